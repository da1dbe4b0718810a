/** Runs actions. The outbox records each with who did it and why, where it records actions at all. */
import { safeGet } from '../../core/classify/safe-get.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import type { ReplayReport } from '../../outbox/dead-letters/options.ts'
import type { MessageFilter } from '../../outbox/message/filter.ts'
import type { OperatorOptions } from '../../outbox/operator/operator.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { ActionResult, Count, JobView } from '../contract.ts'
import type { Actor, QueueAction } from '../parts.ts'
import { commandOf } from './commands.ts'
import type { JobControl, JobResult, Jobs } from './jobs.ts'
import { planAction } from './plan.ts'
import { toFilter } from './selection.ts'
import type { QueueSettings } from './settings.ts'
import { type QueueSources, requireSource } from './sources.ts'

/** What the canary of `outbox.dead.replay` replays: 1, then 10. */
const CANARY_SIZE = 11
const PAGE_SIZE = 200
const SECOND_MS = 1_000

type ActionOf<Name extends QueueAction['action']> = Extract<QueueAction, { readonly action: Name }>

export class ActionRunner {
	readonly #sources: QueueSources
	readonly #jobs: Jobs
	readonly #settings: QueueSettings

	constructor(sources: QueueSources, jobs: Jobs, settings: QueueSettings) {
		this.#sources = sources
		this.#jobs = jobs
		this.#settings = settings
	}

	async run(action: QueueAction, { by }: Actor): Promise<ActionResult> {
		const command = commandOf(action, this.#settings.flags)
		if (action.action === 'cancel-job')
			return { changed: null, job: this.#jobs.cancel(action.source, action.id), command }
		const operator = { by, reason: action.reason }
		switch (action.action) {
			case 'replay':
			case 'discard':
			case 'retry':
			case 'expire':
			case 'resend-endpoint':
				return { changed: null, job: await this.#startJob(action, operator), command }
			case 'disable-endpoint':
			case 'enable-endpoint':
			case 'test-endpoint':
				return { changed: await this.#changeEndpoint(action, operator), job: null, command }
			default:
				return { changed: await this.#change(action, operator), job: null, command }
		}
	}

	async #change(
		action: ActionOf<'resend' | 'pause' | 'resume' | 'close-circuit'>,
		operator: OperatorOptions,
	): Promise<number> {
		const [, outbox] = requireSource('source', action.source, this.#sources.outboxes)
		switch (action.action) {
			case 'resend':
				await outbox.resend(action.id, operator)
				return 1
			case 'pause':
				await outbox.pause(action.destination, { ...operator, forMs: action.forMs })
				return 1
			case 'resume':
				return Number(await outbox.resume(action.destination, operator))
			default:
				return Number(await outbox.closeCircuit(action.destination, operator))
		}
	}

	async #changeEndpoint(
		{ action, source, id }: ActionOf<'disable-endpoint' | 'enable-endpoint' | 'test-endpoint'>,
		operator: OperatorOptions,
	): Promise<number> {
		const [, { endpoints }] = requireSource('source', source, this.#sources.webhooks)
		if (action === 'disable-endpoint') await endpoints.disable(id, operator)
		else if (action === 'enable-endpoint') await endpoints.enable(id, operator)
		else await endpoints.test(id)
		return 1
	}

	async #startJob(
		action: ActionOf<'replay' | 'discard' | 'retry' | 'expire' | 'resend-endpoint'>,
		operator: { readonly by: string; readonly reason: string | undefined },
	): Promise<JobView> {
		this.#jobs.checkFree(action.action)
		const { source, action: name } = action
		const isCanary = name === 'replay' && action.canary === true
		const start = (total: Count, work: (control: JobControl) => Promise<JobResult>): JobView =>
			this.#jobs.start({ source, action: name, by: operator.by, total, isCanary }, work)
		if (name === 'resend-endpoint') {
			const [, { endpoints }] = requireSource('source', source, this.#sources.webhooks)
			const { id, since, perSecond } = action
			return start({ count: 0, isCapped: true }, async ({ signal }) => {
				const options = { ...operator, since: new Date(since), ratePerSecond: perSecond, signal }
				return { changed: (await endpoints.resend(id, options)).resent }
			})
		}
		const [, outbox] = requireSource('source', source, this.#sources.outboxes)
		const { matching } = await planAction(action, this.#sources, this.#settings)
		const filter = toFilter(action.selection)
		const all = action.selection.all
		return start(matching, async (control) => {
			const { signal } = control
			const onProgress = ({ done }: { readonly done: number }): void => control.onProgress(done)
			switch (name) {
				case 'replay': {
					const options = { ...operator, all, canary: isCanary, signal }
					const replay = action.perSecond === undefined ? replayAll : this.#replayPaced(action.perSecond)
					return toResult(await replay(outbox, filter, options, control))
				}
				case 'discard':
					return {
						changed: (await outbox.dead.discard(filter, { ...operator, all, signal, onProgress })).discarded,
					}
				case 'expire':
					return { changed: await outbox.expire(filter, { ...operator, all, signal, onProgress }) }
				default:
					return { changed: await outbox.retry(filter, { ...operator, all, signal, onProgress }) }
			}
		})
	}

	/**
	 * Replays what may become due in a second, a page at a time. Pages follow the order of the queue, so a message that
	 * dies again meanwhile is not replayed a second time.
	 */
	#replayPaced(perSecond: number): typeof replayAll {
		const { runtime } = this.#settings
		const limit = Math.max(1, Math.min(PAGE_SIZE, Math.floor(perSecond)))
		const pauseMs = (limit / perSecond) * SECOND_MS
		return async (outbox, filter, { all: _, canary, ...options }, { signal, onProgress }) => {
			const now = Math.floor(await outbox.store.now()) + 1
			const until = new Date(Math.min(now, filter.until?.getTime() ?? now))
			// Ids select messages by themselves.
			const selected = filter.ids ? filter : { ...filter, until }
			let done = 0
			let after: string | undefined
			let isFirst = true
			for (;;) {
				const size = canary && isFirst ? CANARY_SIZE : limit
				const page = await outbox.dead.list(selected, { limit: size, after })
				after = page.at(-1)?.id
				const ids = page.map(({ id }) => id)
				const report = await replayIds(outbox, ids, { ...options, canary: canary && isFirst })
				done += report.replayed
				onProgress(done, report.stoppedBy !== undefined)
				if (report.stopped || page.length < size) return { ...report, replayed: done }
				isFirst = false
				await sleep(runtime, pauseMs, signal)
				if (signal.aborted) return { ...NOTHING, replayed: done, stopped: true, stoppedBy: 'abort' }
			}
		}
	}
}

const NOTHING: ReplayReport = {
	replayed: 0,
	stopped: false,
	stoppedBy: undefined,
	reason: undefined,
	sameFailure: [],
}

type ReplayJobOptions = OperatorOptions & {
	readonly all?: boolean | undefined
	readonly canary: boolean
	readonly signal: AbortSignal
}

const replayAll = (
	outbox: Outbox,
	filter: MessageFilter,
	options: ReplayJobOptions,
	{ onProgress }: JobControl,
): Promise<ReplayReport> =>
	outbox.dead.replay(filter, {
		...options,
		onProgress: ({ done }) => onProgress(done, options.canary && done <= CANARY_SIZE),
	})

/** Replays dead letters without those that another operator has replayed or discarded since they were listed. */
async function replayIds(
	outbox: Outbox,
	given: readonly string[],
	options: Omit<ReplayJobOptions, 'all'>,
): Promise<ReplayReport> {
	let ids = given
	while (ids.length > 0) {
		try {
			return await outbox.dead.replay({ ids }, options)
		} catch (error) {
			if (safeGet(error, 'code') !== 'YAOKI_DEAD_LETTER_NOT_FOUND') throw error
			const { messages } = error as { readonly messages: readonly { readonly id: string }[] }
			const gone = new Set(messages.map(({ id }) => id))
			const rest = ids.filter((id) => !gone.has(id))
			if (rest.length === ids.length) throw error
			ids = rest
		}
	}
	return NOTHING
}

const toResult = ({ replayed, stoppedBy, reason }: ReplayReport): JobResult => ({
	changed: replayed,
	error: stoppedBy === undefined || stoppedBy === 'abort' ? undefined : reason,
})
