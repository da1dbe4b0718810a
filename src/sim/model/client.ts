/** A client: makes calls when they are due, through the policy of their instance, and counts their outcomes. */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import { scheduleCalls } from '../load/arrivals.ts'
import type { ClientMeter } from '../measure/client-meter.ts'
import type { ClientModel } from '../scenario/scenario.ts'
import { isExpected } from './failures.ts'
import { classDraw, type Receiver, Request } from './request.ts'

/** `policies`: one per instance; empty if the calls go through no policy. */
export function startClient(
	loop: EventLoop,
	name: string,
	model: ClientModel,
	service: Receiver,
	meter: ClientMeter,
	policies: readonly Policy<unknown>[],
): void {
	const { classes, deadlineMs, ignoresSignal = false } = model
	const path = `clients.${name}`
	const runtime = loop.runtime(path)
	const drawClass =
		classes && classDraw(classes, loop.stream(`${path} classes`), (className) => meter.addClass(className))
	// Only a policy enforces a deadline, so an empty pipeline stands in where the client has none.
	const needsPipeline = policies.length === 0 && deadlineMs !== undefined
	const used = needsPipeline ? [pipeline({ runtime })] : policies

	scheduleCalls(model.arrivals, path, loop, (user, onEnd) => {
		const startedAt = loop.now()
		let requests = 0
		const policy = used[user % used.length]
		let latest: Request | undefined
		const requestClass = drawClass?.()
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
		const options =
			deadlineMs === undefined ? undefined : { deadline: Deadline.after(deadlineMs, { runtime }) }
		if (policy) run(policy, send, ended, options, !ignoresSignal)
		else send(undefined, ended)
	})
}
