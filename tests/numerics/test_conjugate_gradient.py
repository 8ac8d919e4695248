import numpy as np

from logikern.numerics.conjugate_gradient import Image, conjugate_gradient

N_BATCH, N_CLASSES, N_POINTS = 3, 2, 7
SIZE = N_CLASSES * N_POINTS


def systems(seed=0):
    """Positive definite matrices of eigenvalues 1 to 1000, one per member, and right sides."""
    generator = np.random.default_rng(seed)
    bases = [np.linalg.qr(generator.standard_normal((SIZE, SIZE)))[0] for _ in range(N_BATCH)]
    matrices = np.stack([basis * np.logspace(0, 3, SIZE) @ basis.T for basis in bases])
    return matrices, generator.standard_normal((N_BATCH, N_CLASSES, N_POINTS))


def times(matrices, per_class, members):
    flat = per_class.reshape(len(members), SIZE)
    return np.einsum("bij,bj->bi", matrices[members], flat).reshape(per_class.shape)


def dense_solution(matrices, right_side):
    flat = right_side.reshape(len(right_side), SIZE, 1)
    return np.linalg.solve(matrices, flat).reshape(right_side.shape)


def solve(matrices, right_side, tolerance=1e-11, max_products=200, precondition=None, companion=None):
    companion = matrices if companion is None else companion

    def apply(direction, members):
        return Image(times(matrices, direction, members), times(companion, direction, members))

    return conjugate_gradient(
        apply,
        precondition or (lambda residual, members: residual.copy()),
        right_side,
        lambda residual, members, gained: np.abs(residual).max(axis=(1, 2)) <= tolerance,
        max_products,
    )


def test_solution_is_that_of_dense_algebra():
    matrices, right_side = systems()
    result = solve(matrices, right_side)
    np.testing.assert_allclose(result.solution, dense_solution(matrices, right_side), atol=1e-10)


def test_all_members_settle():
    assert solve(*systems()).converged.all()


def test_solution_with_a_preconditioner_is_that_of_dense_algebra():
    matrices, right_side = systems()
    diagonals = np.einsum("bii->bi", matrices).reshape(right_side.shape)
    result = solve(matrices, right_side, precondition=lambda residual, members: residual / diagonals[members])
    np.testing.assert_allclose(result.solution, dense_solution(matrices, right_side), atol=1e-10)


def test_the_inverse_as_preconditioner_needs_one_product():
    matrices, right_side = systems()
    inverses = np.linalg.inv(matrices)
    result = solve(
        matrices,
        right_side,
        tolerance=1e-9,
        precondition=lambda residual, members: times(inverses, residual, members),
    )
    assert result.n_products == 1


def test_companion_is_the_linear_image_of_the_solution():
    matrices, right_side = systems()
    companion = np.random.default_rng(5).standard_normal(matrices.shape)
    result = solve(matrices, right_side, companion=companion)
    expected = times(companion, result.solution, np.arange(N_BATCH))
    np.testing.assert_allclose(result.companion, expected, rtol=1e-10, atol=1e-12)


def test_companion_is_the_linear_image_when_products_run_out():
    matrices, right_side = systems()
    result = solve(matrices, right_side, max_products=4)
    expected = times(matrices, result.solution, np.arange(N_BATCH))
    np.testing.assert_allclose(result.companion, expected, rtol=1e-10, atol=1e-12)


def test_a_member_is_solved_as_if_alone():
    matrices, right_side = systems()
    together = solve(matrices, right_side).solution
    for member in range(N_BATCH):
        own = slice(member, member + 1)
        np.testing.assert_allclose(
            together[own], solve(matrices[own], right_side[own]).solution, rtol=1e-11, atol=1e-13
        )


def test_a_settled_member_is_no_longer_multiplied():
    matrices, right_side = systems()
    matrices[1] = 2.0 * np.eye(SIZE)  # solved by one product
    seen = []

    def apply(direction, members):
        seen.append(members.tolist())
        product = times(matrices, direction, members)
        return Image(product, product)

    conjugate_gradient(
        apply,
        lambda residual, members: residual.copy(),
        right_side,
        lambda residual, members, gained: np.abs(residual).max(axis=(1, 2)) <= 1e-11,
        200,
    )
    assert seen[0] == [0, 1, 2] and all(1 not in members for members in seen[1:])


def test_a_member_of_no_positive_curvature_leaves_the_others_alone():
    matrices, right_side = systems()
    matrices[1] = -np.eye(SIZE)
    result = solve(matrices, right_side)
    others = [0, 2]
    np.testing.assert_allclose(result.solution[others], dense_solution(matrices, right_side)[others], atol=1e-10)


def test_a_member_that_is_not_finite_leaves_the_others_alone():
    matrices, right_side = systems()
    matrices[1, 0, 0] = np.nan
    result = solve(matrices, right_side)
    assert result.converged.tolist() == [True, False, True]


def test_a_zero_right_side_costs_no_product():
    matrices, right_side = systems()
    assert solve(matrices, 0 * right_side).n_products == 0


def test_products_keep_to_the_bound():
    assert solve(*systems(), max_products=3).n_products == 3


def test_members_that_did_not_settle_are_told():
    assert not solve(*systems(), max_products=3).converged.any()


def test_right_side_is_left_alone():
    matrices, right_side = systems()
    before = right_side.copy()
    solve(matrices, right_side)
    np.testing.assert_array_equal(right_side, before)


def test_members_that_are_stuck_are_no_longer_multiplied():
    matrices, right_side = systems()
    assert solve(-matrices, right_side).n_products == 1
