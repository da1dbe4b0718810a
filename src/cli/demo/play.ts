/** What happens on the stage: orders come in, the receiver fails by the plan, a relay is killed, and in the end all is counted. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { Counter, pause } from './counter.ts'
import { type Kill, type Ledger, ledgerOf } from './ledger.ts'
import type { Plan } from './plan.ts'
import type { Receiver } from './receiver.ts'
import { RelayProcess } from './relay-process.ts'
import type { Scene, Screen } from './screen.ts'
import type { Shop } from './shop.ts'

export interface Cast {
	readonly shop: Shop
	readonly receiver: Receiver
	readonly screen: Screen
	readonly plan: Plan
	readonly runtime: Runtime
}

interface Scheduled {
	readonly atMs: number
	happens(signal: AbortSignal): void | Promise<void>
}

const LOOK_EACH_MS = 50
/** A relay that is killed while it does nothing shows nothing; but it is killed in the end. */
const BUSY_WITHIN_MS = 1000
const BUSY = 4

export class Play {
	readonly #cast: Cast
	readonly #counter: Counter
	readonly #relays: RelayProcess[] = []
	readonly #kills: Kill[] = []
	/** Rejects when something broke that was not meant to, and never resolves. */
	readonly #broken: Promise<never>
	#break: (error: unknown) => void = () => {}
	#to = ''
	#isOver = false
	#doing = 'the relays start'

	constructor(cast: Cast) {
		this.#cast = cast
		this.#counter = new Counter(cast.shop, cast.runtime)
		this.#broken = new Promise((_, reject) => {
			this.#break = reject
		})
		this.#broken.catch(() => {})
	}

	/** `signal` ends the orders early; what is under way is still brought to its end. */
	toItsEnd(signal: AbortSignal): Promise<Ledger> {
		return Promise.race([this.#play(signal), this.#broken])
	}

	/** No process outlives the play. */
	async clear(): Promise<void> {
		this.#isOver = true
		await Promise.all(this.#relays.map((relay) => relay.kill()))
	}

	async #play(signal: AbortSignal): Promise<Ledger> {
		const { receiver, screen, plan, runtime } = this.#cast
		this.#to = await receiver.start()
		const pair = [this.#hire(), this.#hire()]
		await Promise.all(pair.map(({ ready }) => ready))
		screen.say(pair.map(({ name, pid }) => `${name} is process ${pid}`).join(', '))
		screen.follow(() => this.#scene())
		const closing = new AbortController()
		const close = () => closing.abort()
		signal.addEventListener('abort', close)
		if (signal.aborted) close()
		try {
			const served = this.#counter.serve(plan.ordersPerSecond, closing.signal)
			await Promise.race([served, this.#story(closing)])
			close()
			await served
		} finally {
			close()
			signal.removeEventListener('abort', close)
		}
		receiver.isDown = false
		receiver.isMoody = false
		this.#doing = 'no more orders; the relays bring what is under way'
		const { left, dead } = await this.#drained()
		await Promise.all(this.#relays.map((relay) => relay.stop(runtime)))
		return this.#ledger(left, dead)
	}

	/** All that the plan says, in its order; then the shop closes. */
	async #story(closing: AbortController): Promise<void> {
		const { plan, runtime } = this.#cast
		const startedAt = runtime.now()
		this.#doing = 'orders come in'
		for (const { atMs, happens } of this.#scheduled(plan)) {
			await pause(runtime, Math.max(0, atMs - (runtime.now() - startedAt)), closing.signal)
			if (closing.signal.aborted) return
			await happens(closing.signal)
		}
	}

	#scheduled({ failures, outage, killAtMs, produceMs }: Plan): readonly Scheduled[] {
		const { receiver, screen } = this.#cast
		const scheduled: Scheduled[] = [
			...failures.map(({ atMs, fault }) => ({ atMs, happens: () => receiver.failNext(fault) })),
			{
				atMs: outage.fromMs,
				happens: () => {
					receiver.isDown = true
					screen.say('the receiver goes down')
				},
			},
			{
				atMs: outage.toMs,
				happens: () => {
					receiver.isDown = false
					screen.say('the receiver is back')
				},
			},
			{ atMs: killAtMs, happens: (signal) => this.#killOne(signal) },
			{ atMs: produceMs, happens: () => {} },
		]
		return scheduled.sort((one, other) => one.atMs - other.atMs)
	}

	async #killOne(signal: AbortSignal): Promise<void> {
		const { receiver, runtime } = this.#cast
		const until = runtime.now() + BUSY_WITHIN_MS
		const busiest = () =>
			this.#relays
				.filter(({ state }) => state === 'running')
				.map((relay) => ({ relay, unanswered: receiver.unansweredOf(relay.name) }))
				.sort((one, other) => other.unanswered - one.unanswered)[0]
		while ((busiest()?.unanswered ?? 0) < BUSY && runtime.now() < until && !signal.aborted)
			await pause(runtime, 1, signal)
		const victim = busiest()?.relay
		if (!victim || signal.aborted) return
		const unanswered = receiver.unansweredOf(victim.name)
		await victim.kill()
		this.#replace(victim, unanswered)
	}

	#replace({ name, pid }: RelayProcess, unanswered: number): void {
		const { receiver, screen } = this.#cast
		if (this.#isOver) return
		receiver.killed(name)
		this.#kills.push({ relay: name, unanswered })
		const heir = this.#hire()
		screen.say(
			`${name} (process ${pid}) was killed with SIGKILL while it waited for ${unanswered} ${unanswered === 1 ? 'answer' : 'answers'}; ${heir.name} takes its place`,
		)
	}

	/** Who kills a relay by hand, for it is tempting, sees it replaced as well. */
	#hire(): RelayProcess {
		const { shop, plan, receiver } = this.#cast
		const name = `relay-${this.#relays.length + 1}`
		const brief = { type: 'brief', name, database: shop.database, to: this.#to, plan } as const
		const relay = new RelayProcess(brief, (gone, error) => {
			if (error) this.#break(error)
			else this.#replace(gone, receiver.unansweredOf(gone.name))
		})
		this.#relays.push(relay)
		return relay
	}

	/** Waits until the queue is empty, or until it will not be. */
	async #drained(): Promise<{ readonly left: number; readonly dead: number }> {
		const { shop, plan, runtime } = this.#cast
		const until = runtime.now() + plan.drainWithinMs
		for (;;) {
			const { due, scheduled, inFlight, dead } = (await shop.outbox.stats()).totals
			const left = due.count + scheduled.count + inFlight.count
			if (left === 0 || runtime.now() > until) return { left, dead: dead.count }
			await pause(runtime, LOOK_EACH_MS)
		}
	}

	async #ledger(left: number, dead: number): Promise<Ledger> {
		const { shop, receiver } = this.#cast
		return ledgerOf({
			...{ database: shop.name, committed: await shop.orderIds(), rolledBack: this.#counter.rolledBack },
			...{ received: receiver.orders, faults: receiver.faults },
			...{ relays: this.#relays.map(({ name, pid, counts }) => ({ name, pid, sent: counts.sent })) },
			...{ refused: receiver.refused, refusedByKill: receiver.refusedByKill, kills: this.#kills, left, dead },
		})
	}

	#scene(): Scene {
		const { committed, rolledBack } = this.#counter
		return { committed, rolledBack, receiver: this.#cast.receiver, relays: this.#relays, doing: this.#doing }
	}
}
