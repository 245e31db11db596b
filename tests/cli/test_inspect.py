from cmab_gym.cli import main


def test_the_arms_and_phi_are_printed(capsys):
    assert main(["inspect", "CMAB-Tabular-v0", "--set", "preset=table1-a"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 arm 1 0.4000 0.2000 0.5200 +0.0800 no" in out
    assert "arm 0 0.6000 0.6800" in out  # phi
    assert "C = 1 of 2 arms are competitive" in out
    assert main(["inspect", "CMAB-MovieLens-v0"]) == 0
    assert "Film-Noir" in capsys.readouterr().out


def test_the_bounds_are_printed_or_why_one_is_missing(capsys):
    def inspected(*arguments):
        assert main(["inspect", *arguments]) == 0
        return " ".join(capsys.readouterr().out.split())

    known = inspected("CMAB-Tabular-v0", "--set", "preset=table1-a", "--rounds", "1000000")
    assert "no 116,672 233,348" in known  # t0, and pulls by c-ucb
    assert "c-ucb, upper bound (Corollary 1) bounded 46,669.5" in known
    assert "any agent, lower bound (Graves and Lai) 0 0.0" in known
    assert "(Lai and Robbins) 2.466 ln T 34.1" in known
    assert "always the worst arm 0.2 T 200,000.0" in known
    later = inspected("CMAB-Tabular-v0", "--set", "preset=table1-b", "--rounds", "1000000")
    assert "c-ucb, upper bound (Corollary 1) 80 ln T 65,105.6" in later
    assert "(Graves and Lai) 4.966 ln T 68.6" in later
    for preset, growth in (("three-arm-a", "0"), ("three-arm-b", "of order ln T")):
        latent = inspected("CMAB-Latent-v0", "--set", f"preset={preset}")
        assert f"any agent, lower bound (Theorem 3) {growth} " in latent
    coarse = inspected("CMAB-Latent-v0", "--set", "preset=two-arm-a", "bins=10")
    assert "C = 2 of 2 arms are competitive" in coarse
    assert "C = 1 without the table's 10 bins" in coarse
    assert "without the table's" not in inspected("CMAB-Latent-v0")
    genres = inspected("CMAB-MovieLens-v0")
    assert "(Corollary 1): not available: the pseudo-rewards of arm 9, the best" in genres
    assert "(Graves and Lai): not available: 18 arms of 5 rewards" in genres
    assert "t0" not in genres
