/**
 * `yaoki/outbox/testing`: the conformance suite of stores. The stores of this package pass all cases, and so
 * must a store of your own: types say how a call looks, only cases say what it means. Cases are plain
 * functions that reject, so they run under any test framework.
 */
import { afterDeadLetter } from './cases/after-dead-letter.ts'
import { attemptLog } from './cases/attempts.ts'
import { audit } from './cases/audit.ts'
import { circuitChanges, circuits, operatorChanges } from './cases/circuits.ts'
import { claim } from './cases/claim.ts'
import { deadLetters, discard, history, replay } from './cases/dead-letters.ts'
import { dedupeLifetime, duplicates, expiredDedupeKeys } from './cases/duplicates.ts'
import { endpointEvents } from './cases/endpoint-events.ts'
import {
	endpointAudit,
	endpointChanges,
	endpointFailures,
	endpointRows,
	matching,
} from './cases/endpoints.ts'
import { insert } from './cases/insert.ts'
import { isolation } from './cases/isolation.ts'
import { leases, repeatedSettlements } from './cases/leases.ts'
import { filters, list } from './cases/listing.ts'
import { claimByKey, claimRuns, order, predecessors } from './cases/order.ts'
import { poisonCandidates } from './cases/poison.ts'
import { notifications, relays } from './cases/relays.ts'
import { resending } from './cases/resend.ts'
import { expire, retryNow, schedule } from './cases/schedule.ts'
import { endpointsWithoutTables, schema, withoutTables } from './cases/schema.ts'
import { settle } from './cases/settle.ts'
import { permits, tokens } from './cases/shared-limits.ts'
import { ages, blockedKeys, clockChanges, failures, stats } from './cases/stats.ts'
import { errorTexts, texts } from './cases/texts.ts'
import { type EndpointCase, EndpointHarness } from './harness/endpoints.ts'
import { type CaseTable, StoreHarness } from './harness/harness.ts'
import type { OutboxStoreUnderTest } from './harness/store-under-test.ts'

export type { OutboxStoreUnderTest } from './harness/store-under-test.ts'

/**
 * One requirement on a store; `run` rejects if the store does not meet it. For authors of stores:
 * `outboxStoreConformance` and `endpointStoreConformance` return a list of them.
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
	resend: resending,
	'attempt log': attemptLog,
	notifications,
	texts,
	'error texts': errorTexts,
}

const ENDPOINT_TABLES: Readonly<Record<string, Readonly<Record<string, EndpointCase>>>> = {
	endpoints: endpointRows,
	'endpoint changes': endpointChanges,
	'endpoint failures': endpointFailures,
	'endpoint audit': endpointAudit,
	matching,
	events: endpointEvents,
}

/** Returns cases whose function gets the endpoints of the store. */
const ofEndpoints = (table: Readonly<Record<string, EndpointCase>>): CaseTable =>
	Object.fromEntries(
		Object.entries(table).map(([name, check]) => [name, (t: StoreHarness) => check(new EndpointHarness(t))]),
	)

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
 * Returns the cases that define an `OutboxStore`. Each case opens a store, checks one requirement and closes
 * it.
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

/**
 * Returns the cases that define the property `endpoints` of an `OutboxStore`, which webhooks need. A store
 * without webhooks leaves it out, and then does not run them. `open` is as for `outboxStoreConformance`.
 *
 * @example
 * for (const { name, run } of endpointStoreConformance(openMyStore)) test(name, run)
 */
export const endpointStoreConformance = (
	open: () => Promise<OutboxStoreUnderTest>,
): readonly OutboxConformanceCase[] => [
	...toCases('schema', ofEndpoints(endpointsWithoutTables), open, false),
	...Object.entries(ENDPOINT_TABLES).flatMap(([title, table]) =>
		toCases(title, ofEndpoints(table), open, true),
	),
]
