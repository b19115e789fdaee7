from .graphs import graph_laplacian as graph_laplacian
from .graphs import neighbor_graph as neighbor_graph
from .laplacian_regularizer import LaplacianRegularizer as LaplacianRegularizer
from .laplacian_ridge import LaplacianRidge as LaplacianRidge
from .laplacian_svc import LaplacianSVC as LaplacianSVC
