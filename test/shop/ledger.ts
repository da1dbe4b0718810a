/** Compares what customers saw with what the bank charged, what the database stored and what the mail service received. */
import { orderOf } from './plan.ts'
import type { ShopRun } from './shop.ts'

/** Every number but `accepted` is a defect. */
export interface Ledger {
	readonly accepted: number
	/** Orders that no customer got accepted before the end. */
	readonly notAccepted: number
	readonly chargedTwice: number
	/** Accepted orders that the bank did not charge. */
	readonly notCharged: number
	/** Accepted orders that are not in the database. */
	readonly lost: number
	/** Orders in the database whose event did not arrive at the mail service. */
	readonly eventsLost: number
	/** Charges for orders that were never accepted. */
	readonly chargedInVain: number
}

export function ledgerOf({ plan, sales, bank, stored, mail }: ShopRun): Ledger {
	const charges = new Map<string, number>()
	for (const { order } of bank.charges) charges.set(order, (charges.get(order) ?? 0) + 1)
	const accepted = new Set(sales.map(({ id }) => id))
	const inDatabase = new Set(stored)
	const count = (ids: Iterable<string>, isSo: (id: string) => boolean) => [...ids].filter(isSo).length
	const all = Array.from({ length: plan.orders }, (_, index) => orderOf(index).id)
	return {
		accepted: accepted.size,
		notAccepted: count(all, (id) => !accepted.has(id)),
		chargedTwice: count(charges.keys(), (id) => (charges.get(id) ?? 0) > 1),
		notCharged: count(accepted, (id) => !charges.has(id)),
		lost: count(accepted, (id) => !inDatabase.has(id)),
		eventsLost: count(inDatabase, (id) => mail.confirmed[id] === undefined),
		chargedInVain: count(charges.keys(), (id) => !accepted.has(id)),
	}
}
