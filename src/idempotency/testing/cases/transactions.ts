/** The completion as a part of a transaction, for stores that have transactions; others pass. */
import type { Queryable } from '../../../sql/clients.ts'
import type { IdempotencyStore } from '../../store/store.ts'
import { assertEqual, assertThat } from '../harness/assertions.ts'
import { type CaseTable, hashOf, LONG_MS, RESPONSE, type StoreHarness } from '../harness/harness.ts'

type Transaction = NonNullable<IdempotencyStore['transaction']>
type CompleteIn = NonNullable<IdempotencyStore<Queryable>['completeIn']>

/** A case that runs only if the store has transactions. */
const withTransactions =
	(run: (t: StoreHarness, transaction: Transaction) => Promise<void>): CaseTable[string] =>
	async (t) => {
		const { store } = t
		if (store.transaction) await run(t, (fn) => store.transaction?.(fn) as never)
	}

/** A case for stores with `completeIn`. A transaction of the store itself stands for the user's. */
const inUserTransaction = (
	run: (t: StoreHarness, transaction: Transaction, completeIn: CompleteIn) => Promise<void>,
): CaseTable[string] =>
	withTransactions(async (t, transaction) => {
		const { store } = t
		if (store.completeIn) await run(t, transaction, (...args) => store.completeIn?.(...args) as never)
	})

/** Asserts the number of rows that the user has committed, if the test has a table. */
async function expectRows(t: StoreHarness, count: number): Promise<void> {
	const { userTable } = t.opened
	if (userTable) assertEqual(await userTable.count(), count, 'the number of rows')
}

const failure = new Error('the handler failed')

/** Returns what a transaction rejects with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
	try {
		await promise
	} catch (error) {
		return error
	}
	return assertThat(false, 'the transaction: expected to reject')
}

export const transactions: CaseTable = {
	'a transaction returns the result of its function': withTransactions(async (_, transaction) => {
		assertEqual(await transaction(async () => 'result'), 'result', 'the result')
	}),

	'a transaction commits the rows and the completion together': withTransactions(async (t, transaction) => {
		const claim = await t.claimed()
		await transaction(async (tx, complete) => {
			await t.opened.userTable?.insert(tx)
			assertEqual(await complete(claim, RESPONSE, LONG_MS), true, 'the result of complete')
		})
		await t.expectClaim({ kind: 'completed', response: RESPONSE })
		await expectRows(t, 1)
	}),

	'a transaction without a completion commits the rows, and the claim holds its key': withTransactions(
		async (t, transaction) => {
			const claim = await t.claimed()
			await transaction(async (tx) => t.opened.userTable?.insert(tx))
			await t.expectKind('running')
			await t.complete(claim)
			await expectRows(t, 1)
		},
	),

	'a transaction that rejects commits neither, and the claim holds its key': withTransactions(
		async (t, transaction) => {
			const claim = await t.claimed()
			const rejected = transaction(async (tx, complete) => {
				await t.opened.userTable?.insert(tx)
				await complete(claim, RESPONSE, LONG_MS)
				throw failure
			})
			assertThat((await rejection(rejected)) === failure, 'the error is not the error of the function')
			await t.expectKind('running')
			await expectRows(t, 0)
			await t.complete(claim)
		},
	),

	'a transaction that completes without a response is unstored': withTransactions(async (t, transaction) => {
		const claim = await t.claimed()
		await transaction(async (_, complete) => complete(claim, undefined, LONG_MS))
		await t.expectClaim({ kind: 'unstored' })
	}),

	'a completion in a transaction returns false after a takeover': withTransactions(async (t, transaction) => {
		const lost = await t.abandoned()
		const next = await t.claimed()
		const isWritten = await transaction(async (_, complete) => complete(lost, RESPONSE, LONG_MS))
		assertEqual(isWritten, false, 'the result of complete')
		await t.expectKind('running')
		await t.complete(next)
	}),

	'a completion in a transaction returns false after the release and after the completion of its claim':
		withTransactions(async (t, transaction) => {
			const released = await t.claimed()
			await t.release(released)
			const completed = await t.completed()
			for (const claim of [released, completed]) {
				const isWritten = await transaction(async (_, complete) => complete(claim, undefined, LONG_MS))
				assertEqual(isWritten, false, 'the result of complete')
			}
			await t.expectClaim({ kind: 'completed', response: RESPONSE })
		}),

	'a transaction after one that rejected works': withTransactions(async (t, transaction) => {
		for (let n = 0; n < 5; n++) await rejection(transaction(() => Promise.reject(failure)))
		const claim = await t.claimed()
		await transaction(async (_, complete) => complete(claim, RESPONSE, LONG_MS))
		await t.expectKind('completed')
	}),

	'a completion in a transaction of the user is committed with it': inUserTransaction(
		async (t, transaction, completeIn) => {
			const claim = await t.claimed()
			await transaction(async (tx) => {
				await t.opened.userTable?.insert(tx)
				assertEqual(await completeIn(tx as Queryable, claim, RESPONSE, LONG_MS), true, 'the result')
			})
			await t.expectClaim({ kind: 'completed', response: RESPONSE })
			await expectRows(t, 1)
		},
	),

	'a completion in a transaction of the user is rolled back with it': inUserTransaction(
		async (t, transaction, completeIn) => {
			const claim = await t.claimed()
			const rejected = transaction(async (tx) => {
				await completeIn(tx as Queryable, claim, undefined, LONG_MS)
				throw failure
			})
			assertThat((await rejection(rejected)) === failure, 'the error is not the error of the function')
			await t.expectKind('running')
			await t.complete(claim)
		},
	),

	'a completion in a transaction of the user returns false after a takeover': inUserTransaction(
		async (t, transaction, completeIn) => {
			const lost = await t.abandoned()
			const next = await t.claimed()
			const isWritten = await transaction(async (tx) => completeIn(tx as Queryable, lost, RESPONSE, LONG_MS))
			assertEqual(isWritten, false, 'the result')
			await t.complete(next)
		},
	),

	'concurrent transactions of different keys all commit': withTransactions(async (t, transaction) => {
		const claims = await Promise.all(
			Array.from({ length: 5 }, (_, n) => t.claimed({ id: hashOf(`key ${n}`) })),
		)
		await Promise.all(
			claims.map((claim) =>
				transaction(async (tx, complete) => {
					await t.opened.userTable?.insert(tx)
					return complete(claim, RESPONSE, LONG_MS)
				}),
			),
		)
		for (const { id } of claims) await t.expectKind('completed', { id })
		await expectRows(t, 5)
	}),
}
