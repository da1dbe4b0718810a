import { expect, test } from 'vitest'
import { ledgerOf } from './ledger.ts'
import type { ShopPlan } from './plan.ts'
import { runShop } from './shop.ts'
import { YAOKI } from './yaoki/stack.ts'

const OUTAGE_MS = 2_000

const PLAN: ShopPlan = {
	orders: 200,
	perSecond: 40,
	customers: 50,
	againMs: 500,
	restartMs: 500,
	bank: { workers: 8, serviceMs: 50 },
	faults: [
		{ kind: 'bank', afterOrders: 20, forMs: OUTAGE_MS },
		{ kind: 'kill', afterOrders: 70, service: 'payments' },
		{ kind: 'postgres', afterOrders: 120, forMs: OUTAGE_MS },
	],
	limitMs: 240_000,
}

/** Starts of processes on a busy machine included. */
const LIMIT_MS = 400_000

test(
	'200 orders with an outage of the bank, a killed process and an outage of the database: each is charged once, stored and confirmed',
	async () => {
		const run = await runShop(YAOKI, PLAN, {
			execArgv: ['--import', new URL('./from-source.ts', import.meta.url).href],
		})

		expect(ledgerOf(run)).toEqual({
			accepted: 200,
			notAccepted: 0,
			chargedTwice: 0,
			notCharged: 0,
			chargedInVain: 0,
			lost: 0,
			eventsLost: 0,
		})
		expect(run.bank.failures).toBeGreaterThan(0)
		expect(run.outages.map(({ fault }) => fault)).toEqual(PLAN.faults)
		expect(run.crashes).toEqual([])
	},
	LIMIT_MS,
)
