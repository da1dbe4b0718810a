/**
 * The customers in the storefront. Orders arrive at a fixed rate. If an order fails, after whatever the stack's client has retried, the customer orders
 * again a moment later, with the same order id, until the shop accepts it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { now, type Order, orderOf, type Sale, type ShopPlan } from './plan.ts'
import { type Commands, note } from './service.ts'

export function customers(plan: ShopPlan, place: (order: Order) => Promise<unknown>): Commands {
	const sales: Sale[] = []
	let isOver = false

	const buy = async (order: Order, giveUpAt: number) => {
		for (let tries = 1; ; tries++) {
			try {
				await place(order)
				sales.push({ id: order.id, acceptedAt: now(), tries })
				return
			} catch (error) {
				if (now() > giveUpAt) return note(`${order.id} was not accepted in ${tries} tries: ${error}`)
				await pause(plan.againMs * (0.5 + Math.random()))
			}
		}
	}

	const sell = async () => {
		const startedAt = now()
		const giveUpAt = startedAt + plan.limitMs
		const slots = new Slots(plan.customers)
		const buying: Promise<void>[] = []
		for (let index = 0; index < plan.orders; index++) {
			const early = startedAt + (index * 1_000) / plan.perSecond - now()
			if (early > 0) await pause(early)
			buying.push(slots.run(() => buy(orderOf(index), giveUpAt)))
		}
		await Promise.all(buying)
		isOver = true
	}

	return {
		/** Returns the time of the first order. */
		open() {
			void sell()
			return now()
		},
		isOver: () => isOver,
		accepted: () => sales.length,
		sales: () => sales,
	}
}

/** First in, first out. */
class Slots {
	#free: number
	readonly #waiting: (() => void)[] = []

	constructor(count: number) {
		this.#free = count
	}

	async run(work: () => Promise<void>): Promise<void> {
		if (this.#free > 0) this.#free--
		else await new Promise<void>((resolve) => this.#waiting.push(resolve))
		await work()
		const next = this.#waiting.shift()
		if (next) next()
		else this.#free++
	}
}
