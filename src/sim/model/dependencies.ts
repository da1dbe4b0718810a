/** The calls that a service makes to other services before its own work: one after the other or in parallel, each through its own policy. */
import type { CallContext } from '../../core/engine/call-options.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { DependencyModel } from '../scenario/scenario.ts'
import { type Failure, isExpected, status } from './failures.ts'
import { type Receiver, Request } from './request.ts'
import type { CallDependencies } from './server.ts'

export interface Hop {
	/** Names its random stream. */
	readonly name: string
	readonly model: DependencyModel
	readonly service: Receiver
	readonly policy: Policy<unknown> | undefined
	/** Its operation goes on when its signal aborts. */
	readonly ignoresSignal: boolean
	onRetry(): void
}

type Draw = () => number

export function callDependencies(loop: EventLoop, path: string, hops: readonly Hop[]): CallDependencies {
	const groups = groupParallel(hops.map((hop) => [hop, loop.stream(`${path} needs ${hop.name}`)] as const))
	return (request, done) => {
		const callFrom = (first: number): void => {
			const group = groups[first]
			if (!group) done(undefined)
			else callGroup(loop, group, request, (failure) => (failure ? done(failure) : callFrom(first + 1)))
		}
		callFrom(0)
	}
}

/** Each hop with the parallel ones that follow it. */
function groupParallel<T extends readonly [Hop, ...unknown[]]>(
	hops: readonly T[],
): readonly (readonly T[])[] {
	const groups: T[][] = []
	for (const entry of hops)
		if (entry[0].model.parallel && groups.length > 0) groups.at(-1)?.push(entry)
		else groups.push([entry])
	return groups
}

/** Calls the hops of a group concurrently. The first failure is the result; the other calls go on, as they do in production. */
function callGroup(
	loop: EventLoop,
	group: readonly (readonly [Hop, Draw])[],
	request: Request,
	done: (failure: Failure | undefined) => void,
): void {
	// One more than calls, so that a call that ends immediately does not end the group before the last one has
	// started.
	let pending = 1
	let hasFailed = false
	const end = (failure: Failure | undefined) => {
		pending--
		if (hasFailed || (!failure && pending > 0)) return
		hasFailed = failure !== undefined
		done(failure)
	}
	for (const [hop, random] of group) {
		if (isSkipped(hop, random)) continue
		const { passContext } = hop.model
		pending++
		call(loop, hop, passContext ? request : undefined, (error) => {
			const ok = error === undefined || error === null
			if (!ok && !isExpected(error)) loop.fail(error)
			// A failed dependency is a 502 here. Services that pass the context also pass the cause.
			end(ok ? undefined : status(502, undefined, passContext ? error : undefined))
		})
	}
	end(undefined)
}

/** Names hops after their service, and numbers repeated ones so that they do not draw the same numbers. */
export const nameHops = (models: readonly DependencyModel[]): readonly string[] =>
	models.map(({ to }, index) => {
		const before = models.slice(0, index).filter((other) => other.to === to).length
		return before === 0 ? to : `${to} ${before + 1}`
	})

const isSkipped = ({ model: { share = 1 } }: Hop, random: Draw): boolean => share < 1 && random() >= share

function call(loop: EventLoop, hop: Hop, from: Request | undefined, ended: DoneCallback<unknown>): void {
	const { service, policy, ignoresSignal } = hop
	const context = from?.context
	let isRetry = false
	// Only a signal knows what the caller does.
	const endsOnCallersAbort = context !== undefined && !ignoresSignal
	const send = (own: CallContext | undefined, done: DoneCallback<unknown>) => {
		if (!loop.countRequest()) return undefined
		if (isRetry) hop.onRetry()
		isRetry = true
		const request = new Request(service, done, own)
		if (endsOnCallersAbort && own) request.endOnAbort(own.signal)
		request.requestClass = from?.requestClass
		service.send(request)
		return request
	}
	if (policy) run(policy, send, ended, context, !ignoresSignal && !endsOnCallersAbort)
	else if (context?.signal.aborted) ended(context.signal.reason)
	else send(context, ended)
}
