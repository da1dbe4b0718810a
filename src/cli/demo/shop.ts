/** A shop's database with an outbox in it, and what the demo does to it. The two databases differ in nothing that the demo sees. */
import type { Outbox } from '../../outbox/index.ts'
import type { Brief } from './relay-protocol.ts'

export interface ShopOrder {
	readonly orderId: string
	readonly amount: number
}

/** One for each kind of database. */
export interface Shop {
	/** What it is called for people. */
	readonly name: string
	/** How a relay process finds it. */
	readonly database: Brief['database']
	readonly outbox: Outbox
	/** Writes the order and its message in one transaction, and then commits it or rolls it back. */
	write(order: ShopOrder, end: 'COMMIT' | 'ROLLBACK'): Promise<void>
	/** The ids of all orders that are there. */
	orderIds(): Promise<readonly string[]>
	/** Takes away all that was made. */
	remove(): Promise<void>
}

/** Every message of the demo. */
export const messageOf = (order: ShopOrder): { topic: string; destination: string; payload: ShopOrder } => ({
	topic: 'order.created',
	destination: 'orders',
	payload: order,
})
