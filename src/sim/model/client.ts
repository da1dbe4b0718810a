/** Makes calls when they are due, through the policy of its instance, and counts their outcomes. */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import { scheduleCalls } from '../load/arrivals.ts'
import type { ClientMeter } from '../measure/client-meter.ts'
import type { ClientModel } from '../scenario/scenario.ts'
import { isExpected } from './failures.ts'
import { classDraw, type Receiver, Request, type RequestClass } from './request.ts'

export class Client {
	readonly #loop: EventLoop
	readonly #service: Receiver
	readonly #meter: ClientMeter
	/** One per instance; empty if the calls go through no policy. */
	readonly #policies: readonly Policy<unknown>[]
	readonly #deadlineMs: number | undefined
	readonly #ignoresSignal: boolean
	readonly #runtime: Runtime
	readonly #drawClass: (() => RequestClass) | undefined

	constructor(
		loop: EventLoop,
		name: string,
		model: ClientModel,
		service: Receiver,
		meter: ClientMeter,
		policies: readonly Policy<unknown>[],
	) {
		this.#loop = loop
		this.#service = service
		this.#meter = meter
		this.#deadlineMs = model.deadlineMs
		this.#ignoresSignal = model.ignoresSignal ?? false
		this.#runtime = loop.runtime(`clients.${name}`)
		if (model.classes)
			this.#drawClass = classDraw(model.classes, loop.stream(`clients.${name} classes`), (className) =>
				meter.addClass(className),
			)
		// Only a policy enforces a deadline, so an empty pipeline stands in where the client has none.
		const needsPipeline = policies.length === 0 && model.deadlineMs !== undefined
		this.#policies = needsPipeline ? [pipeline({ runtime: this.#runtime })] : policies
		scheduleCalls(model.arrivals, `clients.${name}`, loop, (user, onEnd) => this.#call(user, onEnd))
	}

	#call(user: number, onEnd?: () => void): void {
		const loop = this.#loop
		const meter = this.#meter
		const service = this.#service
		const ignoresSignal = this.#ignoresSignal
		const startedAt = loop.now()
		let requests = 0
		const policy = this.#policies[user % this.#policies.length]
		let latest: Request | undefined
		const requestClass = this.#drawClass?.()
		meter.start(startedAt)
		requestClass?.meter.start(startedAt)
		loop.callsInFlight++
		const send = (context: CallContext | undefined, done: DoneCallback<unknown>) => {
			if (!loop.countRequest()) return undefined
			meter.send(requests++ === 0, startedAt)
			latest = new Request(service, done, context, latest)
			if (context?.deadline && !ignoresSignal) latest.endAtDeadline(context.deadline)
			latest.requestClass = requestClass
			service.send(latest)
			return latest
		}
		const ended = (error: unknown) => {
			const ok = error === undefined || error === null
			if (!ok && !isExpected(error)) loop.fail(error)
			loop.callsInFlight--
			meter.end(startedAt, loop.now(), ok, requests)
			requestClass?.meter.end(startedAt, loop.now(), ok)
			loop.trace.add(startedAt)
			loop.trace.add(ok ? requests : -requests)
			if (policy && !service.passesContext) Request.release(latest)
			onEnd?.()
		}
		if (policy) run(policy, send, ended, this.#callOptions(), !ignoresSignal)
		else send(undefined, ended)
	}

	#callOptions(): { deadline: Deadline } | undefined {
		if (this.#deadlineMs === undefined) return undefined
		return { deadline: Deadline.after(this.#deadlineMs, { runtime: this.#runtime }) }
	}
}
