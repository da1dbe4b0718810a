/**
 * What this process knows of its policies and clients. A call that succeeds at its first attempt costs nothing: the engine
 * reports only calls in which something failed, and the rest is read from statistics when a viewer looks.
 * The alternative, an observer as telemetry has one, reads the clock and creates an object for every call.
 */
import type { Call } from '../../core/engine/call.ts'
import { type Observable, type Observation, observationOf } from '../../core/observe/observation.ts'
import { combineEnds } from '../../core/observe/subscribe.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { ProblemReports } from '../../telemetry/observe/report.ts'
import { Redactor } from '../../telemetry/redact/redactor.ts'
import type { ActionResult, FailedCalls } from '../contract.ts'
import type { CircuitAction, LivePart, Query } from '../parts.ts'
import { reasonOf, showFailure } from './describe-failure.ts'
import { FailedCallBuffer, type ShownParts } from './failed-calls.ts'
import { byPressure, limitRows } from './limits.ts'
import { leavesOf } from './policies.ts'
import { byProblemSeverity } from './problems.ts'
import { type RedactField, ShownTexts } from './shown-texts.ts'
import { Source } from './source.ts'
import { isOnlyRejected, outcomeOf, type TakenFailure, takeFailure } from './take-failure.ts'

export interface LiveSettings {
	/** Returns what is shown of a text, after secrets were hidden as in logs. */
	readonly redact?: RedactField | undefined
	/** How many failed calls are kept, and as many rejected ones. Default 500. */
	readonly maxFailedCalls?: number | undefined
	/** Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** Further circuits, limits and problems are left out; circuits that are not closed come first. */
const MAX_CIRCUITS = 1_000
const MAX_LIMITS = 1_000
const MAX_PROBLEMS = 50

/** An HTTP client adds the hint of a failed call some promise jobs after its end. */
const JOBS_UNTIL_HINT = 16

/** Observes the things that are policies, pipelines, clients or interceptors. The other things are for the other half. */
export function createLive(
	things: Readonly<Record<string, Observable>>,
	settings: LiveSettings = {},
): LivePart {
	return new Live(things, settings)
}

class Live implements LivePart {
	readonly #runtime: Runtime
	readonly #texts: ShownTexts
	readonly #failed: FailedCallBuffer<TakenFailure>
	readonly #sources: readonly Source[]
	readonly #end: () => void
	/** Requests whose hint is not known yet. */
	#hintless: { readonly call: Call; readonly taken: TakenFailure }[] = []

	constructor(things: Readonly<Record<string, Observable>>, settings: LiveSettings) {
		const { runtime = systemRuntime, redact, maxFailedCalls } = settings
		this.#runtime = runtime
		const reports = new ProblemReports('dashboard')
		this.#texts = new ShownTexts(new Redactor(redact, reports))
		const shown: ShownParts<TakenFailure> = {
			source: ({ source }) => source,
			key: ({ key }) => this.#texts.name(key, 'key'),
			reason: reasonOf,
			call: (taken) => showFailure(taken, this.#texts),
		}
		this.#failed = new FailedCallBuffer(shown, maxFailedCalls)
		this.#sources = findSources(things, reports).map(
			([name, observation]) => new Source(name, observation, runtime, this.#texts),
		)
		this.#end = combineEnds(
			this.#sources.map((source) => source.observe((call) => this.#onFailure(source, call))),
		)
	}

	overview(): ReturnType<LivePart['overview']> {
		this.#takeHints()
		const now = this.#runtime.now()
		const lastErrors = this.#lastErrors()
		const read = this.#sources.map((source) => {
			const leaves = [...leavesOf(source.observation)]
			const findError = (key: string | null) => lastErrors.get(source.name)?.get(key)?.() ?? null
			const circuits = source.circuits.rows(leaves, MAX_CIRCUITS, findError)
			const problems = source.problems.list(circuits, now, findError(null))
			return { circuits, problems, limits: limitRows(source.name, leaves, this.#texts) }
		})
		return {
			problems: read
				.flatMap(({ problems }) => problems)
				.sort(byProblemSeverity)
				.slice(0, MAX_PROBLEMS),
			circuits: read
				.flatMap(({ circuits }) => circuits.map(({ row }) => row))
				.sort(
					(a, b) =>
						Number(a.state === 'closed') - Number(b.state === 'closed') ||
						b.failures - a.failures ||
						b.calls - a.calls,
				)
				.slice(0, MAX_CIRCUITS),
			retries: this.#sources
				.filter(({ observation }) => observation.calls)
				.map((source) => source.retryRow(now)),
			limits: read
				.flatMap(({ limits }) => limits)
				.sort(byPressure)
				.slice(0, MAX_LIMITS),
			failedCalls: this.#failed.total,
		}
	}

	calls(query: Query): FailedCalls {
		this.#takeHints()
		return this.#failed.page(query)
	}

	run({ action, source: name, circuit }: CircuitAction): ActionResult {
		const source = this.#sources.find((one) => one.name === name)
		if (!source) return invalidArgument('source', name, 'the name of a policy or a client')
		const { circuits } = source
		let isChanged = true
		if (action === 'isolate') isChanged = circuits.isolate(circuit)
		else if (action === 'release') isChanged = circuits.release(circuit)
		else circuits.reset(circuit)
		return { changed: isChanged ? 1 : 0, job: null, command: null }
	}

	close(): void {
		this.#end()
		// A protection never outlasts the dashboard of the operator who set it: nothing else could release it.
		for (const { circuits } of this.#sources) circuits.releaseAll()
	}

	#onFailure(source: Source, call: Call): void {
		const now = this.#runtime.now()
		const outcome = outcomeOf(call)
		source.count(call, outcome, now)
		if (!outcome) return
		const taken = takeFailure(call, outcome, source.name, { now, wallNow: this.#runtime.wallNow() })
		this.#failed.add(taken, isOnlyRejected(call, outcome))
		if (call.options?.extension && this.#hintless.push({ call, taken }) === 1) void this.#takeHintsSoon()
	}

	/** Once for all requests that end in the same round of promise jobs. */
	async #takeHintsSoon(): Promise<void> {
		for (let job = 0; job < JOBS_UNTIL_HINT; job++) await undefined
		this.#takeHints()
	}

	#takeHints(): void {
		for (const { call, taken } of this.#hintless.splice(0)) {
			const hint = call.rare?.hint
			if (hint !== undefined) taken.record.rare.hint = hint
		}
	}

	/** The last error of each source, and of each key of it. Only an error that is asked for is described. */
	#lastErrors(): LastErrors {
		const errors = new Map<string, Map<string | null, () => string>>()
		for (const [{ source, key }, error] of this.#failed.failures()) {
			const ofSource = errors.get(source) ?? new Map([[null, error]])
			errors.set(source, ofSource)
			if (key !== undefined && !ofSource.has(key)) ofSource.set(key, error)
		}
		return errors
	}
}

type LastErrors = ReadonlyMap<string, ReadonlyMap<string | null, () => string>>

/** A client and its extensions may be one thing, whose calls are counted once. */
function findSources(
	things: Readonly<Record<string, Observable>>,
	reports: ProblemReports,
): (readonly [name: string, observation: Observation])[] {
	const names = new Map<object, string>()
	return Object.entries(things).flatMap(([name, thing]) => {
		const observation = observationOf(thing)
		if (!observation?.calls && !observation?.members) return []
		const identity = observation.identity ?? thing
		const before = names.get(identity)
		if (before === undefined) names.set(identity, name)
		else reports.report(`twice ${name}`, `"${name}" is already observed, as "${before}"`)
		return before === undefined ? [[name, observation] as const] : []
	})
}
