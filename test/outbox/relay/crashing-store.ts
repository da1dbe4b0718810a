/**
 * A relay that dies at a chosen moment. Every await of its cycle is a moment: before the store does what was asked, after it did and before the
 * answer arrives, before a handler sends, after it sent and before it returns, and whenever a timer fires. From then on nothing that it asked
 * for happens any more, no timer fires, and nothing is answered: as after a SIGKILL.
 */
import type { Runtime } from 'yaoki'
import type { Handler } from 'yaoki/outbox'
import type { Store } from 'yaoki/outbox/store'
import type { Settlement } from '../../../src/outbox/store/rows.ts'

const NEVER = new Promise<never>(() => {})

export class Life {
	readonly #diesAt: number
	/** How many moments there were. */
	moments = 0
	/** Payloads that were sent, or are being sent, and are not written down as such: only these may be sent once more. */
	readonly unwritten = new Map<string, unknown>()
	/** What happened at the moment of death. */
	lastWords = ''

	constructor(diesAt: number) {
		this.#diesAt = diesAt
	}

	get isOver(): boolean {
		return this.moments >= this.#diesAt
	}

	/** One more moment; answers whether it was the last. */
	passes(what: string): boolean {
		if (this.isOver) return true
		this.moments++
		if (this.isOver) this.lastWords = what
		return this.isOver
	}
}

export function mortalStore(store: Store, life: Life): Store {
	return new Proxy(store, {
		get(target, name) {
			const value: unknown = Reflect.get(target, name, target)
			if (typeof value !== 'function') return value
			if (name === 'accepts') return value.bind(target)
			return async (...args: unknown[]): Promise<unknown> => {
				if (life.passes(`before ${String(name)}`)) return NEVER
				const answer: unknown = await Reflect.apply(value, target, args)
				if (name === 'settle') for (const { id } of args[1] as Settlement[]) life.unwritten.delete(id)
				return life.passes(`after ${String(name)}`) ? NEVER : answer
			}
		},
	})
}

export const mortalRuntime = (runtime: Runtime, life: Life): Runtime => ({
	now: () => runtime.now(),
	wallNow: () => runtime.wallNow(),
	random: () => runtime.random(),
	setTimer: (ms, fn, kind) =>
		runtime.setTimer(
			ms,
			() => {
				if (!life.passes('at a timer')) fn()
			},
			kind,
		),
})

export const mortalHandler =
	(send: Handler, life: Life): Handler =>
	async (message, context) => {
		if (life.passes(`before sending ${message.payload}`)) return NEVER
		life.unwritten.set(message.id, message.payload)
		try {
			await send(message, context)
		} finally {
			if (life.passes(`after sending ${message.payload}`)) await NEVER
		}
	}
