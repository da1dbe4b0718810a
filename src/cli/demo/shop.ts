/** A shop database with an outbox. SQLite and PostgreSQL look the same to the demo. */
import type { Outbox } from '../../outbox/index.ts'
import type { StoreTarget } from '../outbox/open-outbox.ts'

export interface ShopOrder {
	readonly orderId: string
	readonly amount: number
}

export interface Shop {
	readonly name: string
	/** What a relay process needs to connect. */
	readonly database: StoreTarget
	readonly outbox: Outbox
	/** Writes the order and its message in one transaction, then commits it or rolls it back. */
	write(order: ShopOrder, end: 'COMMIT' | 'ROLLBACK'): Promise<void>
	orderIds(): Promise<readonly string[]>
	/** Removes everything that the demo created. */
	remove(): Promise<void>
}

/** How long delivered orders are kept, for the dashboard. */
export const HISTORY_MS = 300_000

export const orderMessage = (payload: ShopOrder) => {
	return { topic: 'order.created', destination: 'orders', payload }
}
