from reproduction.pipeline.locks import clear_stale_lock


def test_locks_of_a_dead_run_are_removed(tmp_path):
    folder = tmp_path / ".snakemake"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks/0.output.lock").write_text("a file\n")
    handle = clear_stale_lock(folder)
    assert handle is not None
    assert not list((folder / "locks").iterdir())
    handle.close()


def test_locks_of_a_live_run_stay(tmp_path):
    folder = tmp_path / ".snakemake"
    alive = clear_stale_lock(folder)
    (folder / "locks").mkdir()
    (folder / "locks/0.output.lock").write_text("a file\n")
    assert clear_stale_lock(folder) is None
    assert (folder / "locks/0.output.lock").exists()
    alive.close()
    assert clear_stale_lock(folder) is not None
