"""Colors of all figures: the palette of Okabe and Ito, readable with any color vision."""

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, YELLOW, GREY = "#56B4E9", "#E69F00", "#F0E442", "#6E6E6E"
COLORS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER, GREY)
