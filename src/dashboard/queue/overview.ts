/** Reads all sources side by side. */
import type { Observation } from '../../core/observe/observation.ts'
import { combineEnds } from '../../core/observe/subscribe.ts'
import type { IdempotencyEvent } from '../../idempotency/engine/events.ts'
import type { IdempotencyView, InboxView, OutboxView, Problem, WebhooksView } from '../contract.ts'
import { outboxProblems } from './outbox-problems.ts'
import { toOutboxView } from './outbox-view.ts'
import { ProblemTimes } from './problem-times.ts'
import type { QueueSettings } from './settings.ts'
import { SourceReader } from './source-reader.ts'
import type { QueueSources } from './sources.ts'

/** What one source shows, and what is wrong with it. */
interface Reading<View> {
	readonly view: View
	readonly problems: readonly Problem[]
}

type Readers<View> = readonly SourceReader<Reading<View>>[]

export interface QueueOverview {
	readonly outboxes: readonly OutboxView[]
	readonly inboxes: readonly InboxView[]
	readonly webhooks: readonly WebhooksView[]
	readonly idempotency: readonly IdempotencyView[]
	readonly problems: readonly Problem[]
}

/** Nothing is read unless a viewer asks; then all viewers who ask meanwhile get the same. */
export class OverviewReader {
	readonly #outboxes: Readers<OutboxView>
	readonly #inboxes: Readers<InboxView>
	readonly #webhooks: Readers<WebhooksView>
	readonly #idempotency: Readers<IdempotencyView>
	/** Ends the observation of idempotency engines. */
	readonly close: () => void
	#pending: Promise<QueueOverview> | undefined

	constructor(sources: QueueSources, settings: QueueSettings) {
		const readers = <Thing, View>(
			things: ReadonlyMap<string, Thing>,
			load: (name: string, thing: Thing) => () => Promise<Reading<View>>,
		): Readers<View> =>
			[...things].map(([name, thing]) => new SourceReader(name, load(name, thing), settings))
		this.#outboxes = readers(sources.outboxes, (name, outbox) => {
			const times = new ProblemTimes()
			return async () => {
				const stats = await outbox.stats()
				times.begin(settings.runtime.now())
				const problems = outboxProblems(name, stats, times)
				times.end()
				return { view: toOutboxView(name, outbox, stats, settings), problems }
			}
		})
		this.#inboxes = readers(sources.inboxes, (source, inbox) => async () => {
			const { marks, expired, oldestAgeMs } = await inbox.stats()
			return { view: { source, marks, expired, oldestAgeMs }, problems: [] }
		})
		this.#webhooks = readers(sources.webhooks, (source, webhooks) => async () => {
			const { enabled, failing, disabled, failingForMs } = await webhooks.stats()
			const view = { source, enabled, failing, disabled: { ...disabled }, failingSinceMs: failingForMs }
			return { view, problems: endpointProblems(view) }
		})
		const ends: (() => void)[] = []
		this.#idempotency = readers(sources.idempotency, (source, engine) => {
			const counter = countEvents(engine)
			ends.push(counter.end)
			return async () => ({
				view: { source, ...counter.counts, figures: numbersOf(await engine.stats?.()) },
				problems: [],
			})
		})
		this.close = combineEnds(ends)
	}

	read(): Promise<QueueOverview> {
		this.#pending ??= this.#read().finally(() => {
			this.#pending = undefined
		})
		return this.#pending
	}

	async #read(): Promise<QueueOverview> {
		const problems: Problem[] = []
		const readAll = async <View>(readers: Readers<View>): Promise<readonly View[]> => {
			const read = await Promise.all(readers.map((reader) => reader.read()))
			for (const one of read) problems.push(...one.problems, ...(one.value?.problems ?? []))
			return read.flatMap(({ value }) => (value === undefined ? [] : [value.view]))
		}
		const [outboxes, inboxes, webhooks, idempotency] = await Promise.all([
			readAll(this.#outboxes),
			readAll(this.#inboxes),
			readAll(this.#webhooks),
			readAll(this.#idempotency),
		])
		return { outboxes, inboxes, webhooks, idempotency, problems: sortProblems(problems) }
	}
}

/** Errors first, then what has lasted longest; what began at an unknown time has lasted for long. */
const sortProblems = (problems: readonly Problem[]): readonly Problem[] =>
	problems.toSorted(
		(a, b) =>
			Number(b.severity === 'error') - Number(a.severity === 'error') ||
			(a.sinceMs === b.sinceMs ? 0 : (b.sinceMs ?? Infinity) - (a.sinceMs ?? Infinity)),
	)

function endpointProblems({ source, failing, disabled, failingSinceMs }: WebhooksView): readonly Problem[] {
	const problems: Problem[] = []
	// An operator knows about endpoints that an operator has disabled.
	const broken = Object.entries(disabled).reduce(
		(sum, [reason, count]) => (reason === 'operator' ? sum : sum + count),
		0,
	)
	const base = { severity: 'warning', source } as const
	if (broken > 0) problems.push({ ...base, kind: 'endpoints-disabled', sinceMs: null, endpoints: broken })
	if (failing > 0)
		problems.push({ ...base, kind: 'endpoints-failing', sinceMs: failingSinceMs, endpoints: failing })
	return problems
}

interface Facts {
	readonly reason?: string
	readonly isRerun?: boolean
}

/** Counts the events of an engine from now on. */
function countEvents({ events }: Observation) {
	const counts = { replays: 0, conflicts: 0, abandoned: 0 }
	const end = events?.subscribe((event) => {
		const { type, reason, isRerun } = event as Partial<IdempotencyEvent> & Facts
		if (type === 'idempotency_replayed') counts.replays += 1
		if (type === 'idempotency_conflict') counts.conflicts += 1
		// The process of the first request crashed: an operator decides about the key, or the request runs again.
		if (reason === 'outcome-unknown' || isRerun === true) counts.abandoned += 1
	})
	return { counts, end: end ?? (() => {}) }
}

const numbersOf = (stats: unknown): Readonly<Record<string, number>> =>
	Object.fromEntries(
		Object.entries(Object(stats) as Record<string, unknown>).filter(
			(entry): entry is [string, number] => typeof entry[1] === 'number',
		),
	)
