/**
 * `yaoki/outbox/testing`: the conformance suite of stores. The stores of this package pass all cases, and so must a store of your own: types say how a
 * call looks, only cases say what it means. Cases are plain functions that reject, so they run under any test framework.
 */
import { afterDeadLetter } from './cases/delivery/after-dead-letter.ts'
import { claim } from './cases/delivery/claim.ts'
import { dedupeLifetime, expiredDedupeKeys } from './cases/delivery/dedupe-lifetime.ts'
import { duplicates } from './cases/delivery/duplicates.ts'
import { insert } from './cases/delivery/insert.ts'
import { isolation } from './cases/delivery/isolation.ts'
import { leases, repeatedSettlements } from './cases/delivery/leases.ts'
import { claimByKey, order } from './cases/delivery/order.ts'
import { poisonCandidates } from './cases/delivery/poison.ts'
import { predecessors } from './cases/delivery/predecessors.ts'
import { claimRuns } from './cases/delivery/runs.ts'
import { expire, retryNow, schedule } from './cases/delivery/schedule.ts'
import { settle } from './cases/delivery/settle.ts'
import { errorTexts, texts } from './cases/delivery/texts.ts'
import { audit } from './cases/operations/audit.ts'
import { circuitChanges, circuits } from './cases/operations/circuits.ts'
import { deadLetters, replay } from './cases/operations/dead-letters.ts'
import { discard, history } from './cases/operations/history.ts'
import { filters, list } from './cases/operations/listing.ts'
import { operatorChanges } from './cases/operations/operator.ts'
import { permits } from './cases/operations/permits.ts'
import { notifications, relays } from './cases/operations/relays.ts'
import { schema, withoutTables } from './cases/operations/schema.ts'
import { stats } from './cases/operations/stats.ts'
import { tokens } from './cases/operations/tokens.ts'
import { ages, blockedKeys, clockChanges, failures } from './cases/operations/waiting.ts'
import { type CaseTable, StoreHarness } from './harness/harness.ts'
import type { OutboxStoreUnderTest } from './harness/store-under-test.ts'

export type { OutboxStoreUnderTest } from './harness/store-under-test.ts'

/**
 * One requirement on a store; `run` rejects if the store does not meet it. For authors of stores: `outboxStoreConformance` returns a list
 * of them.
 */
export interface OutboxConformanceCase {
	readonly name: string
	run(): Promise<void>
}

const TABLES: Readonly<Record<string, CaseTable>> = {
	insert,
	duplicates,
	'dedupe lifetime': dedupeLifetime,
	'expired dedupe keys': expiredDedupeKeys,
	isolation,
	claim,
	leases,
	'poison candidates': poisonCandidates,
	settle,
	'repeated settlements': repeatedSettlements,
	order,
	'claim by key': claimByKey,
	'claim of runs': claimRuns,
	'after dead letter': afterDeadLetter,
	predecessors,
	circuits,
	'circuit changes': circuitChanges,
	'operator changes': operatorChanges,
	tokens,
	permits,
	relays,
	schedule,
	'dead letters': deadLetters,
	replay,
	discard,
	audit,
	'retry now': retryNow,
	expire,
	list,
	filters,
	stats,
	ages,
	failures,
	'blocked keys': blockedKeys,
	'clock changes': clockChanges,
	history,
	notifications,
	texts,
	'error texts': errorTexts,
}

const toCases = (
	title: string,
	table: CaseTable,
	open: () => Promise<OutboxStoreUnderTest>,
	isMigrated: boolean,
): OutboxConformanceCase[] =>
	Object.entries(table).map(([name, check]) => ({
		name: `${title}: ${name}`,
		run: async () => {
			const harness = new StoreHarness(await open())
			try {
				if (isMigrated) await harness.store.migrate()
				await check(harness)
			} finally {
				await harness.close()
			}
		},
	}))

/**
 * Returns the cases that define an `OutboxStore`. Each case opens a store, checks one requirement and closes it.
 *
 * @example
 * for (const { name, run } of outboxStoreConformance(openMyStore)) test(name, run)
 */
export const outboxStoreConformance = (
	open: () => Promise<OutboxStoreUnderTest>,
): readonly OutboxConformanceCase[] => [
	...toCases('schema', { ...schema, ...withoutTables }, open, false),
	...Object.entries(TABLES).flatMap(([title, table]) => toCases(title, table, open, true)),
]
