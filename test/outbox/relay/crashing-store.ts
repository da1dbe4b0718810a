/**
 * A relay that crashes at a chosen moment. Moments are: before a store operation, after it and before its response, before a handler sends, after it
 * sent and before it returns, and every timer. From then on no operation runs, no timer fires and no promise resolves, as after a SIGKILL.
 */
import type { Runtime } from 'yaoki'
import type { MessageHandler } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import type { Settlement } from '../../../src/outbox/store/rows.ts'

const NEVER = new Promise<never>(() => {})

export class CrashPoint {
	readonly #crashesAt: number
	/** The number of moments so far. */
	moments = 0
	/** Payloads that are in flight, or sent and not acked: only these may be sent again. */
	readonly unacked = new Map<string, unknown>()
	/** What happened at the moment of the crash. */
	crashedAt = ''

	constructor(crashesAt: number) {
		this.#crashesAt = crashesAt
	}

	get hasCrashed(): boolean {
		return this.moments >= this.#crashesAt
	}

	/** Counts a moment; returns true if it was the last. */
	reach(what: string): boolean {
		if (this.hasCrashed) return true
		this.moments++
		if (this.hasCrashed) this.crashedAt = what
		return this.hasCrashed
	}
}

export function crashingStore(store: OutboxStore, crash: CrashPoint): OutboxStore {
	return new Proxy(store, {
		get(target, name) {
			const value: unknown = Reflect.get(target, name, target)
			if (typeof value !== 'function') return value
			if (name === 'accepts') return value.bind(target)
			return async (...args: unknown[]): Promise<unknown> => {
				if (crash.reach(`before ${String(name)}`)) return NEVER
				const result: unknown = await Reflect.apply(value, target, args)
				if (name === 'settle') for (const { id } of args[1] as Settlement[]) crash.unacked.delete(id)
				return crash.reach(`after ${String(name)}`) ? NEVER : result
			}
		},
	})
}

export const crashingRuntime = (runtime: Runtime, crash: CrashPoint): Runtime => ({
	now: () => runtime.now(),
	wallNow: () => runtime.wallNow(),
	random: () => runtime.random(),
	setTimer: (ms, fn, kind) =>
		runtime.setTimer(
			ms,
			() => {
				if (!crash.reach('at a timer')) fn()
			},
			kind,
		),
})

export const crashingHandler =
	(send: MessageHandler, crash: CrashPoint): MessageHandler =>
	async (message, context) => {
		if (crash.reach(`before sending ${message.payload}`)) return NEVER
		crash.unacked.set(message.id, message.payload)
		try {
			await send(message, context)
		} finally {
			if (crash.reach(`after sending ${message.payload}`)) await NEVER
		}
	}
