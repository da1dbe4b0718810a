/**
 * How fast a shop recovers: 3,000 orders, while the bank is away for 20 s, two processes are killed and PostgreSQL is away for 4 s. The same shop runs three
 * times: with Yaoki's defaults, with axios-retry, cockatiel and pg-boss, and with plain fetch and pg. Only the code of its four services differs.
 *
 * `BENCH_SHARE=0.1` runs fewer orders and shorter outages, as a smoke test; the figures then do not count.
 */
import type { Fault, ShopPlan } from '../test/shop/plan.ts'
import { runShop } from '../test/shop/shop.ts'
import type { Report } from './figure.ts'
import { DURABLE } from './outbox/postgres.ts'
import { share } from './outbox/servers.ts'
import { type Measured, measure } from './recovery/measure.ts'
import { figuresOf, linesOf } from './recovery/report.ts'
import { type Contender, OURS, PEER, PLAIN } from './recovery/stacks.ts'

const FAULTS: readonly Fault[] = [
	{ kind: 'bank', afterOrders: 300, forMs: 20_000 },
	{ kind: 'kill', afterOrders: 1_300, service: 'payments' },
	{ kind: 'kill', afterOrders: 1_700, service: 'orders' },
	{ kind: 'postgres', afterOrders: 2_300, forMs: 4_000 },
]

const shorter = (fault: Fault): Fault => ({
	...fault,
	afterOrders: fault.afterOrders * share,
	...('forMs' in fault ? { forMs: fault.forMs * share } : {}),
})

const PLAN: ShopPlan = {
	orders: Math.round(3_000 * Math.min(share, 1)),
	perSecond: 30,
	customers: 100,
	againMs: 1_000,
	restartMs: 1_000,
	bank: { workers: 9, serviceMs: 200 },
	faults: share < 1 ? FAULTS.map(shorter) : FAULTS,
	limitMs: 400_000,
}

export async function recovery(): Promise<Report> {
	const interrupted = new AbortController()
	const onSignal = () => interrupted.abort(new Error('interrupted'))
	for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, onSignal)
	try {
		const results: (readonly [Contender, Measured])[] = []
		for (const contender of [OURS, PEER, PLAIN]) {
			console.error(`  ${contender.name} ...`)
			const options = { postgres: DURABLE, signal: interrupted.signal }
			results.push([contender, measure(await runShop(contender.services, PLAN, options))])
		}
		return {
			title: `Recovery of a shop: ${PLAN.orders.toLocaleString('en-US')} orders`,
			lines: linesOf(PLAN, results),
			figures: figuresOf(PLAN, new Map(results)),
			data: Object.fromEntries(results.map(([{ name }, measured]) => [name, measured])),
		}
	} finally {
		for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
	}
}
