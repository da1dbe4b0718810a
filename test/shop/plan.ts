/** What a run of the shop does, and the messages between its processes. */

/** One order of one customer. The id is also the idempotency key, in stacks that have one. */
export interface Order {
	readonly id: string
	readonly cents: number
}

export const orderOf = (index: number): Order => ({ id: `order-${index}`, cents: 1_000 + (index % 500) })

/** The services that a stack implements. Bank and mail are the same for all stacks. */
export type ServiceName = 'orders' | 'payments' | 'relay' | 'storefront'

/** A fault starts when this many orders are accepted: on a slow machine a fixed time would be before the first of them. */
export type Fault =
	| { readonly kind: 'bank' | 'postgres'; readonly afterOrders: number; readonly forMs: number }
	| { readonly kind: 'kill'; readonly afterOrders: number; readonly service: ServiceName }

export interface ShopPlan {
	readonly orders: number
	/** Orders arrive at this rate, whether or not earlier ones are accepted. */
	readonly perSecond: number
	/** Customers who are served at the same time; others wait in the storefront's queue. */
	readonly customers: number
	/** The time before a customer whose order failed tries again, jittered by half of it in both directions. */
	readonly againMs: number
	readonly bank: {
		/** Charges that it processes at the same time; others wait in its queue. */
		readonly workers: number
		/** The duration of one charge. */
		readonly serviceMs: number
	}
	/** The time until a process that ended is started again. */
	readonly restartMs: number
	readonly faults: readonly Fault[]
	/** The customers give up after this time. */
	readonly limitMs: number
}

/** The input of every process. */
export interface ServiceInput {
	readonly port: number
	readonly database: string
	/** The origins of the services. */
	readonly orders: string
	readonly payments: string
	readonly bank: string
	readonly mail: string
	readonly plan: ShopPlan
}

/** An order that the shop has accepted. */
export interface Sale {
	readonly id: string
	readonly acceptedAt: number
	/** How often the customer ordered: once, and again after each failure. */
	readonly tries: number
}

/** What a process reports while it runs, such as a circuit that opens. */
export interface Note {
	readonly at: number
	readonly service: string
	readonly text: string
}

/** The monotonic clock of the system in milliseconds, the same for all processes. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6
