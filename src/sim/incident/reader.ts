/**
 * Reads events line by line, in any order, and stores only numbers: a log need not fit into memory and may
 * come from a stream. The result does not depend on the order of lines, so that the files of several
 * processes can be read one after the other.
 */
import type { EventBase } from '../../core/events/events.ts'
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { amount, count, fields, listed, ofType } from '../scenario/shape.ts'
import { buildIncident, type Incident, type ReadCounts } from './incident.ts'
import { hashCallId, type PipelineEvents, PolicyEvents } from './log/event-columns.ts'
import { droppedCount, isUsed, parseEvent } from './log/parse-event.ts'

/** Options of `scenarioFromIncident`: how the events of an incident are read. */
export interface IncidentOptions {
	/** The name of the pipeline, if the events are of several. An empty string selects events without a pipeline and without a service. */
	readonly pipeline?: string | undefined
	/**
	 * Reads only the events of these policies. Required if several retries, or several breakers without a
	 * retry, report calls: name the outermost of nested policies, or those of the calls to replay.
	 */
	readonly policy?: string | readonly string[] | undefined
	/**
	 * The number of requests that the service processes concurrently, if known. Slow responses that the load
	 * explains do not count as a fault then: the replay computes them again, because another policy causes
	 * another load. Default: estimated from the events, with a range.
	 */
	readonly workers?: number | undefined
	/** Resolution of the search for faults. Default 1,000. */
	readonly resolutionMs?: number | undefined
}

type LineCounts = Omit<ReadCounts, 'skipped'> & ReadCounts['skipped']

const checkOptions = fields({
	'pipeline?': ofType('string', 'a string'),
	'policy?': (value, path) => {
		const isList = Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')
		if (typeof value !== 'string' && !isList) invalidOption(path, value, 'a name or a list of names')
	},
	'workers?': count(1),
	'resolutionMs?': amount(1),
})

/**
 * Reads the events of an incident line by line, for example from a stream.
 *
 * @example
 * const reader = new IncidentReader({ pipeline: 'users' })
 * for await (const line of lines) reader.add(line)
 * const { scenario, summary } = reader.finish()
 */
export class IncidentReader {
	readonly #options: IncidentOptions
	readonly #policies: ReadonlySet<string> | undefined
	/** The policies of each pipeline. Events without a pipeline and without a service have the empty name. */
	readonly #pipelines = new Map<string, PipelineEvents>()
	readonly #names = { pipelines: new Set<string>(), policies: new Set<string>() }
	/** The number of the current line, empty lines included. */
	#line = 0
	#hasEvents = false
	/** The calls in which policies that were not chosen retried. */
	readonly #otherRetries: number[] = []
	readonly #counts: { -readonly [Name in keyof LineCounts]: LineCounts[Name] } = {
		lines: 0,
		events: 0,
		unreadable: 0,
		firstUnreadable: undefined,
		filtered: 0,
		dropped: 0,
		withoutId: 0,
	}

	constructor(options: IncidentOptions = {}) {
		checkOptions(options, '')
		const { policy } = options
		this.#options = options
		this.#policies = policy === undefined ? undefined : new Set([policy].flat())
	}

	/** Adds one line of the log, with or without its line break. */
	add(line: string): void {
		this.#line++
		// Trims the byte order mark too, which some editors write.
		const text = line.trim()
		if (text === '') return
		const counts = this.#counts
		counts.lines++
		const event = parseEvent(text)
		if (typeof event === 'string') {
			counts.unreadable++
			counts.firstUnreadable ??= { line: this.#line, reason: event }
			return
		}
		this.#hasEvents = true
		if (!isUsed(event)) {
			counts.dropped += droppedCount(event)
			return
		}
		const { emitter: policy } = event
		const pipeline = pipelineOf(event)
		this.#names.pipelines.add(pipeline)
		this.#names.policies.add(policy)
		const { pipeline: wanted = pipeline } = this.#options
		if (wanted !== pipeline || this.#policies?.has(policy) === false) {
			counts.filtered++
			if (wanted === pipeline && event.type === 'retry_attempt' && event.callId !== undefined)
				this.#otherRetries.push(hashCallId(event.callId))
		} else {
			counts.events++
			if (event.callId === undefined) counts.withoutId++
			this.#eventsOf(pipeline, policy).add(event, this.#line)
		}
	}

	#eventsOf(pipeline: string, policy: string): PolicyEvents {
		const policies: PipelineEvents = this.#pipelines.get(pipeline) ?? new Map()
		const events = policies.get(policy) ?? new PolicyEvents()
		this.#pipelines.set(pipeline, policies.set(policy, events))
		return events
	}

	/** Returns the scenario and a summary. Throws an InvalidArgumentError if the events do not contain enough information. */
	finish(): Incident {
		const [first, ...others] = this.#pipelines
		if (!first) return this.#throwNoEvents()
		if (others.length > 0)
			invalidOption('pipeline', undefined, `${listed([...this.#pipelines.keys()].sort())}`)
		const [pipeline, events] = first
		const { workers, resolutionMs = 1_000 } = this.#options
		const hasPolicies = this.#policies !== undefined
		const { lines, events: used, withoutId, ...skipped } = this.#counts
		return buildIncident(
			{ pipeline, policies: events, otherRetries: this.#otherRetries },
			{ hasPolicies, workers, resolutionMs },
			{ lines, events: used, withoutId, skipped },
		)
	}

	#throwNoEvents(): never {
		const { pipeline } = this.#options
		const { pipelines, policies } = this.#names
		const expected = 'events of policy.subscribe, one JSON object per line'
		const { lines, firstUnreadable } = this.#counts
		if (lines === 0) invalidArgument('lines', 'no lines', expected)
		if (firstUnreadable && !this.#hasEvents) {
			const { line, reason } = firstUnreadable
			invalidArgument('lines', `${lines} lines without an event (line ${line} is ${reason})`, expected)
		}
		if (pipeline !== undefined && !pipelines.has(pipeline) && pipelines.size > 0)
			invalidOption('pipeline', pipeline, `a pipeline in the events, ${listed([...pipelines].sort())}`)
		if (this.#policies !== undefined && policies.size > 0)
			invalidOption(
				'policy',
				[...this.#policies].join(', '),
				`policies in the events, ${listed([...policies].sort())}`,
			)
		invalidArgument(
			'lines',
			'events that report no calls',
			'events of a retry or a circuit breaker, which report every call',
		)
	}
}

/** `eventLog` adds the name that was passed to `observe`. It keeps apart the calls of policies without a pipeline. */
function pipelineOf(event: EventBase & { readonly service?: unknown }): string {
	const { pipeline, service } = event
	return pipeline ?? (typeof service === 'string' ? service : '')
}

/**
 * Turns logged events, one JSON object per line, into a scenario: when calls started, how the service
 * responded, and when it failed.
 *
 * @example
 * const { scenario, summary } = scenarioFromIncident(text, { pipeline: 'users' })
 * for (const caveat of summary.caveats) console.log(caveat.text)
 * const result = simulate({ ...scenario, policies: { replay: [{ retry: { maxRetries: 3 } }, { timeoutMs: 1_000 }] } })
 */
export function scenarioFromIncident(
	lines: string | Iterable<string>,
	options: IncidentOptions = {},
): Incident {
	const reader = new IncidentReader(options)
	if (typeof lines !== 'string' && typeof Object(lines)[Symbol.iterator] !== 'function')
		invalidArgument('lines', lines, 'a string or an iterable of lines')
	for (const line of typeof lines === 'string' ? splitLines(lines) : lines) reader.add(line)
	return reader.finish()
}

/** Yields the lines of a text. An array of a million lines would take as much memory again as the text. */
function* splitLines(text: string): Generator<string> {
	for (let from = 0; from < text.length; ) {
		const end = text.indexOf('\n', from)
		const to = end < 0 ? text.length : end
		yield text.slice(from, to)
		from = to + 1
	}
}
