/** What the demo and its relay processes say to each other. */
import type { Plan } from './plan.ts'

/** What a relay process must know. Over the channel and not as arguments, which every user of the machine can read. */
export interface Brief {
	readonly type: 'brief'
	readonly name: string
	readonly database:
		| { readonly kind: 'sqlite'; readonly file: string }
		| { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
	/** Where messages go. */
	readonly to: string
	readonly plan: Pick<Plan, 'leaseMs' | 'timeoutMs' | 'breakerMs'>
}

export type Order = Brief | { readonly type: 'stop' }

/** So far. */
export interface RelayCounts {
	readonly sent: number
	readonly failed: number
	readonly gate: 'closed' | 'open' | 'half-open'
}

export type Word =
	| { readonly type: 'ready' }
	| ({ readonly type: 'counts' } & RelayCounts)
	| { readonly type: 'failed'; readonly message: string }
