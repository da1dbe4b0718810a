/** What a service asks of others before it does its own work: one after the other, each through the policy of that hop. */
import type { CallContext } from '../../core/engine/call-options.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { type DoneCallback, run } from '../../testing/callback-runner.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import type { DependencyModel } from '../scenario/scenario.ts'
import { isExpected, status } from './failures.ts'
import { heeding, type Receiver, Request } from './request.ts'
import type { Ask } from './server.ts'

export interface Hop {
	/** What it is called where it draws. */
	readonly name: string
	readonly model: DependencyModel
	readonly service: Receiver
	readonly policy: Policy | undefined
}

export function asking(world: EventLoop, path: string, hops: readonly Hop[]): Ask {
	const chances = hops.map(({ name }) => world.stream(`${path} needs ${name}`))
	return (request, done) => {
		const askFrom = (first: number): void => {
			let index = first
			while (isSpared(hops[index], chances[index])) index++
			const hop = hops[index]
			if (!hop) {
				done(undefined)
				return
			}
			const { passContext } = hop.model
			call(world, hop, passContext ? request.context : undefined, (error) => {
				const ok = error === undefined || error === null
				if (!ok && !isExpected(error)) world.break(error)
				if (ok) askFrom(index + 1)
				// What failed further down is a bad gateway here; who passes contexts on also passes on why.
				else done(status(502, undefined, passContext ? error : undefined))
			})
		}
		askFrom(0)
	}
}

/** By the service, and by a number too from the second hop to the same one on, or the two would draw the same. */
export const namesOf = (models: readonly DependencyModel[]): readonly string[] =>
	models.map(({ to }, index) => {
		const before = models.slice(0, index).filter((other) => other.to === to).length
		return before === 0 ? to : `${to} ${before + 1}`
	})

/** Does a request not need this one? */
const isSpared = (hop: Hop | undefined, chance: (() => number) | undefined): boolean =>
	hop !== undefined &&
	chance !== undefined &&
	(hop.model.share ?? 1) < 1 &&
	chance() >= (hop.model.share ?? 1)

function call(
	world: EventLoop,
	{ service, policy }: Hop,
	context: CallContext | undefined,
	ended: DoneCallback<unknown>,
): void {
	const work = (own: CallContext | undefined, done: DoneCallback<unknown>) => {
		if (!world.countRequest()) return
		service.send(new Request(context && own ? heeding(own.signal, done) : done, own))
	}
	if (policy) run(policy, work, ended, context)
	else if (context?.signal.aborted) ended(context.signal.reason)
	else work(context, ended)
}
