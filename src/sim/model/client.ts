/** Who calls: makes calls when they are due, through the policy of its instance, and counts what becomes of them. */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { ClientMeter } from '../measure/client-meter.ts'
import type { ClientModel } from '../scenario/scenario.ts'
import { schedule } from './arrivals.ts'
import { isExpected } from './failures.ts'
import { type Receiver, Request } from './request.ts'

export class Client {
	readonly #world: EventLoop
	readonly #service: Receiver
	readonly #meter: ClientMeter
	/** One for each instance; empty when the calls go through none. */
	readonly #policies: readonly Policy[]
	readonly #deadlineMs: number | undefined
	readonly #runtime: Runtime

	constructor(
		world: EventLoop,
		name: string,
		model: ClientModel,
		service: Receiver,
		meter: ClientMeter,
		policies: readonly Policy[],
	) {
		this.#world = world
		this.#service = service
		this.#meter = meter
		this.#deadlineMs = model.deadlineMs
		this.#runtime = world.runtime(`clients.${name}`)
		// A deadline is the affair of a call, and without a policy there would be none.
		const needsOne = policies.length === 0 && model.deadlineMs !== undefined
		this.#policies = needsOne ? [pipeline({ runtime: this.#runtime })] : policies
		schedule(model.arrivals, `clients.${name}`, world, (user, onEnd) => this.#call(user, onEnd))
	}

	#call(user: number, onEnd?: () => void): void {
		const world = this.#world
		const meter = this.#meter
		const begunAt = world.now()
		let requests = 0
		const policy = this.#policies[user % this.#policies.length]
		let latest: Request | undefined
		meter.begin(begunAt)
		world.openCalls++
		const work = (context: CallContext | undefined, done: DoneCallback<unknown>) => {
			if (!world.countRequest()) return
			meter.send(requests++ === 0)
			const { deadline } = context ?? {}
			latest = new Request(deadline ? untilExpired(deadline, done) : done, context, latest)
			this.#service.send(latest)
		}
		const ended = (error: unknown) => {
			const ok = error === undefined || error === null
			if (!ok && !isExpected(error)) world.break(error)
			world.openCalls--
			meter.end(begunAt, world.now(), ok, requests)
			world.trace.add(begunAt)
			world.trace.add(ok ? requests : -requests)
			if (policy && !this.#service.passesContext) Request.forget(latest)
			onEnd?.()
		}
		if (policy) run(policy, work, ended, this.#callOptions())
		else work(undefined, ended)
	}

	#callOptions(): { deadline: Deadline } | undefined {
		if (this.#deadlineMs === undefined) return undefined
		return { deadline: Deadline.after(this.#deadlineMs, { runtime: this.#runtime }) }
	}
}

/** Its signal says the same, but a signal costs more than the request. */
function untilExpired(deadline: Deadline, done: DoneCallback<unknown>): DoneCallback<unknown> {
	const cancel = deadline.onExpiry(done)
	return (error) => {
		cancel()
		done(error)
	}
}
