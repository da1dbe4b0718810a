/** The calls that a service makes to other services before its own work: one after the other, each through its own policy. */
import type { CallContext } from '../../core/engine/call-options.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { DependencyModel } from '../scenario/scenario.ts'
import { isExpected, status } from './failures.ts'
import { endOnAbort, type Receiver, Request } from './request.ts'
import type { CallDependencies } from './server.ts'

export interface Hop {
	/** Names its random stream. */
	readonly name: string
	readonly model: DependencyModel
	readonly service: Receiver
	readonly policy: Policy<unknown> | undefined
	/** Its operation goes on when its signal aborts. */
	readonly ignoresSignal: boolean
}

export function callDependencies(loop: EventLoop, path: string, hops: readonly Hop[]): CallDependencies {
	const streams = hops.map(({ name }) => loop.stream(`${path} needs ${name}`))
	return (request, done) => {
		const callFrom = (first: number): void => {
			let index = first
			while (isSkipped(hops[index], streams[index])) index++
			const hop = hops[index]
			if (!hop) {
				done(undefined)
				return
			}
			const { passContext } = hop.model
			call(loop, hop, passContext ? request : undefined, (error) => {
				const ok = error === undefined || error === null
				if (!ok && !isExpected(error)) loop.fail(error)
				if (ok) callFrom(index + 1)
				// A failed dependency is a 502 here. Services that pass the context also pass the cause.
				else done(status(502, undefined, passContext ? error : undefined))
			})
		}
		callFrom(0)
	}
}

/** Names hops after their service, and numbers repeated ones so that they do not draw the same numbers. */
export const nameHops = (models: readonly DependencyModel[]): readonly string[] =>
	models.map(({ to }, index) => {
		const before = models.slice(0, index).filter((other) => other.to === to).length
		return before === 0 ? to : `${to} ${before + 1}`
	})

/** Draws whether a request does without this dependency. */
const isSkipped = (hop: Hop | undefined, random: (() => number) | undefined): boolean =>
	hop !== undefined &&
	random !== undefined &&
	(hop.model.share ?? 1) < 1 &&
	random() >= (hop.model.share ?? 1)

function call(
	loop: EventLoop,
	{ service, policy, ignoresSignal }: Hop,
	/** The request whose context is passed on. */
	from: Request | undefined,
	ended: DoneCallback<unknown>,
): void {
	const context = from?.context
	// Only a signal knows what the caller does.
	const endsOnCallersAbort = context !== undefined && !ignoresSignal
	const send = (own: CallContext | undefined, done: DoneCallback<unknown>) => {
		if (!loop.countRequest()) return
		const request = new Request(endsOnCallersAbort && own ? endOnAbort(own.signal, done) : done, own)
		request.requestClass = from?.requestClass
		service.send(request)
	}
	if (policy) run(policy, send, ended, context, !ignoresSignal && !endsOnCallersAbort)
	else if (context?.signal.aborted) ended(context.signal.reason)
	else send(context, ended)
}
