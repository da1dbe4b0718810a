/** The figures of one run of the shop. */
import { type Ledger, ledgerOf } from '../../test/shop/ledger.ts'
import type { ShopPlan } from '../../test/shop/plan.ts'
import type { ShopRun } from '../../test/shop/shop.ts'

/** How long the bank is observed after its outage. */
export const OBSERVED_MS = 5_000

export interface Recovery {
	/** What was away: a dependency, or a killed process. */
	readonly what: string
	readonly fromMs: number
	readonly untilMs: number
	/** The time from the end of the outage to the next accepted order. */
	readonly firstOrderMs: number
}

export interface Measured {
	readonly recoveries: readonly Recovery[]
	/** From the first order to the acceptance of the last one. */
	readonly totalMs: number
	/** From the acceptance of the last order to the last event; negative if no event came later. */
	readonly outboxEmptyMs: number
	readonly events: number
	/** Requests to the bank in the first seconds after its outage. */
	readonly bankRequests: number
	readonly bankRequestsInTotal: number
	readonly longestBankQueue: number
	readonly ledger: Ledger
	readonly crashes: readonly string[]
	/** Accepted orders in each interval of five seconds. */
	readonly accepted: readonly number[]
	readonly notes: readonly string[]
}

export const capacity = ({ bank }: ShopPlan): number => (bank.workers * 1_000) / bank.serviceMs

export function measure(run: ShopRun): Measured {
	const { openedAt, sales, bank, mail, plan } = run
	const times = sales.map(({ acceptedAt }) => acceptedAt).sort((a, b) => a - b)
	const lastAt = times.at(-1) ?? Number.NaN
	const events = Object.values(mail.confirmed)
	const bankIsBack = run.outages.find(({ fault }) => fault.kind === 'bank')?.until ?? Number.NaN
	const accepted = Array.from<number>({ length: Math.ceil((lastAt - openedAt) / INTERVAL_MS) || 0 }).fill(0)
	for (const at of times) {
		const interval = Math.floor((at - openedAt) / INTERVAL_MS)
		accepted[interval] = (accepted[interval] ?? 0) + 1
	}
	return {
		recoveries: run.outages.map((outage) => recovery(outage, openedAt, times)),
		totalMs: times.length < plan.orders ? Number.POSITIVE_INFINITY : lastAt - openedAt,
		outboxEmptyMs: Math.max(...events) - lastAt,
		events: events.length,
		bankRequests: bank.requests.filter((at) => at >= bankIsBack && at < bankIsBack + OBSERVED_MS).length,
		bankRequestsInTotal: bank.requests.length,
		longestBankQueue: bank.longestQueue,
		ledger: ledgerOf(run),
		crashes: run.crashes,
		accepted,
		notes: run.notes.map(
			({ at, service, text }) => `${((at - openedAt) / 1_000).toFixed(2)} s ${service}: ${text}`,
		),
	}
}

export const INTERVAL_MS = 5_000

function recovery(
	{ fault, from, until }: ShopRun['outages'][number],
	openedAt: number,
	times: readonly number[],
): Recovery {
	const firstAt = times.find((at) => at >= until) ?? Number.POSITIVE_INFINITY
	return {
		what: fault.kind === 'kill' ? `${fault.service} killed` : fault.kind,
		fromMs: from - openedAt,
		untilMs: until - openedAt,
		firstOrderMs: firstAt - until,
	}
}
