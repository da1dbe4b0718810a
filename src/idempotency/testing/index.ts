/**
 * `yaoki/idempotency/testing`: the conformance suite of stores for idempotency keys. The stores of this
 * package pass all cases, and so must a store of your own: types say how a call looks, only cases say what it
 * means. Cases are plain functions that reject, so they run under any test framework.
 */
import { claims, repeatedClaims } from './cases/claims.ts'
import { fencing } from './cases/fencing.ts'
import { leases } from './cases/leases.ts'
import { mismatch } from './cases/mismatch.ts'
import { deletion, find, resolve } from './cases/operator.ts'
import { responses } from './cases/responses.ts'
import { purge, retention } from './cases/retention.ts'
import { releases, steps } from './cases/steps.ts'
import { transactions } from './cases/transactions.ts'
import { type CaseTable, type IdempotencyStoreUnderTest, StoreHarness } from './harness/harness.ts'

export type { IdempotencyStoreUnderTest } from './harness/harness.ts'

/**
 * One requirement on a store; `run` rejects if the store does not meet it. For authors of stores:
 * `idempotencyStoreConformance` returns a list of them.
 */
export interface IdempotencyConformanceCase {
	readonly name: string
	run(): Promise<void>
}

const TABLES: Readonly<Record<string, CaseTable>> = {
	claims,
	'repeated claims': repeatedClaims,
	mismatch,
	leases,
	fencing,
	steps,
	releases,
	retention,
	purge,
	resolve,
	delete: deletion,
	find,
	responses,
	transactions,
}

/**
 * Returns the cases that define an `IdempotencyStore`. Each case opens a store on an empty database, checks
 * one requirement and closes it.
 *
 * @example
 * for (const { name, run } of idempotencyStoreConformance(openMyStore)) test(name, run)
 */
export const idempotencyStoreConformance = <Tx>(
	open: () => IdempotencyStoreUnderTest<Tx> | Promise<IdempotencyStoreUnderTest<Tx>>,
): readonly IdempotencyConformanceCase[] =>
	Object.entries(TABLES).flatMap(([title, table]) =>
		Object.entries(table).map(([name, check]) => ({
			name: `${title}: ${name}`,
			run: async () => {
				const harness = new StoreHarness((await open()) as IdempotencyStoreUnderTest)
				try {
					await check(harness)
				} finally {
					await harness.close()
				}
			},
		})),
	)
