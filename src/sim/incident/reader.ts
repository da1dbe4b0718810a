/**
 * Takes lines one at a time, in any order, and keeps numbers of them: a log need not fit into memory, and may come from a stream. Each
 * count and each row is the same whatever came before it, so that files of several processes can be read one after the other.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { listed } from '../scenario/shape.ts'
import { parseEvent, type UnreadableReason } from './event-line.ts'
import { type Incident, incidentOf } from './incident.ts'
import { type PipelineLedger, PolicyLedger } from './ledger.ts'
import { type IncidentOptions, type IncidentSettings, settingsOf } from './options.ts'

/** What tells of no single call, or nothing that another event does not tell as well. */
const ASIDE: ReadonlySet<string> = new Set(['state_change', 'limit_change', 'fallback', 'hedge'])

/**
 * Reads the events of an incident line by line, as from a stream.
 *
 * @example
 * const reader = new IncidentReader({ pipeline: 'users' })
 * for await (const line of lines) reader.add(line)
 * const { scenario, summary } = reader.finish()
 */
export class IncidentReader {
	readonly #settings: IncidentSettings
	/** By the name of the pipeline; an empty one for events of none. */
	readonly #pipelines = new Map<string, PipelineLedger>()
	/** Every name that came by, for messages. */
	readonly #names = { pipelines: new Set<string>(), policies: new Set<string>() }
	/** Of all lines, empty ones included. */
	#line = 0
	#lines = 0
	#events = 0
	#used = 0
	#unreadable = 0
	#others = 0
	#first: { readonly line: number; readonly why: UnreadableReason } | undefined

	constructor(options: IncidentOptions = {}) {
		this.#settings = settingsOf(options)
	}

	/** One line of the log, with or without its line break. */
	add(line: string): void {
		this.#line++
		// Some editors put a mark before the first line, which is white space to trim.
		const text = line.trim()
		if (text === '') return
		this.#lines++
		const event = parseEvent(text)
		if (typeof event === 'string') {
			this.#unreadable++
			this.#first ??= { line: this.#line, why: event }
			return
		}
		this.#events++
		const { pipeline = '', policy, type } = event
		if (ASIDE.has(type)) return
		this.#names.pipelines.add(pipeline)
		this.#names.policies.add(policy)
		const { pipeline: wanted = pipeline, policies } = this.#settings
		if (wanted !== pipeline || policies?.has(policy) === false) this.#others++
		else {
			this.#used++
			this.#ledger(pipeline, policy).add(event)
		}
	}

	#ledger(pipeline: string, policy: string): PolicyLedger {
		const policies: PipelineLedger = this.#pipelines.get(pipeline) ?? new Map()
		const ledger = policies.get(policy) ?? new PolicyLedger()
		this.#pipelines.set(pipeline, policies.set(policy, ledger))
		return ledger
	}

	/** The scenario, and what was read. Refuses events that do not suffice. */
	finish(): Incident {
		const [first, ...others] = this.#pipelines
		if (!first) return this.#refuseAll()
		if (others.length > 0)
			invalidOption(
				'pipeline',
				undefined,
				`${listed([...this.#pipelines.keys()].sort())}, for the events are of several`,
			)
		const [pipeline, ledger] = first
		return incidentOf(pipeline, ledger, this.#settings, {
			lines: this.#lines,
			events: this.#used,
			unreadable: this.#unreadable,
			firstUnreadable: this.#first,
			filtered: this.#others,
		})
	}

	#refuseAll(): never {
		const { pipeline, policies } = this.#settings
		const { pipelines, policies: names } = this.#names
		const takes = 'events as policy.subscribe gives them, one JSON object a line'
		if (this.#lines === 0) invalidOption('lines', 'no line', takes)
		if (this.#first && this.#events === 0) {
			const { line, why } = this.#first
			invalidOption('lines', `${this.#lines} lines and no event among them: line ${line} is ${why}`, takes)
		}
		if (pipeline !== undefined && !pipelines.has(pipeline) && pipelines.size > 0)
			invalidOption(
				'pipeline',
				pipeline,
				`a pipeline of which there are events: ${listed([...pipelines].sort())}`,
			)
		if (policies !== undefined && names.size > 0)
			invalidOption(
				'policy',
				[...policies].join(', '),
				`policies of which there are events: ${listed([...names].sort())}`,
			)
		invalidOption(
			'lines',
			'events that tell of no calls',
			'events of a retry or a circuit breaker, which tell of every call',
		)
	}
}
