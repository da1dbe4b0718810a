/** Combines the observers of all exporters into one that never throws. */
import { type EventBase, isRoutineEvent, type YaokiEvent } from '../../core/events/events.ts'
import type { Around, CallEnd, CallInfo, Observer } from '../../core/observe/observer.ts'
import { isObject } from '../../core/options/schema.ts'
import type { Exporter, ObservedSource } from './exporter.ts'
import { type ProblemReports, reportsOf } from './report.ts'

interface Attached {
	readonly observer: ReturnType<Exporter['attach']>
	readonly reports: ProblemReports
}

export function combineObservers(
	exporters: readonly Exporter[],
	source: ObservedSource,
): { readonly observer: Observer; detach(): void } {
	const all = exporters.flatMap((exporter) => attach(exporter, source))
	const onEvents = all.flatMap(guardedOnEvent)
	const onCallEnds = all.flatMap(guardedOnCallEnd)
	const arounds = all.flatMap(guardedAround)
	const [only] = all.length === 1 ? all : []
	const observer: Observer = {
		level: all.some(({ observer }) => observer.level === 'all') ? 'all' : 'notable',
		...(onEvents.length > 0 && { onEvent: callEach(onEvents) }),
		...(onCallEnds.length > 0 && { onCallEnd: callEach(onCallEnds) }),
		...(arounds.length > 0 && { around: arounds.reduceRight(nest) }),
		trusted: only?.observer.trusted ?? {
			wantsAttempts: (call) => all.some(({ observer }) => wantsAttempts(observer, call)),
			wantsCallEnd: () => true,
		},
	}
	return {
		observer,
		detach: () => {
			for (const { observer, reports } of all)
				guarded(reports, 'detach', 'detach failed', () => observer.detach?.())(undefined)
		},
	}
}

const wantsAttempts = ({ around, trusted }: Observer, call: CallInfo): boolean =>
	around !== undefined && (!trusted || trusted.wantsAttempts(call))

function attach(exporter: Exporter, source: ObservedSource): Attached[] {
	const reports = reportsOf(exporter)
	const attached: Attached[] = []
	guarded(reports, 'attach', 'attach failed', () => {
		const observer = exporter.attach(source)
		if (!isObject(observer)) throw new TypeError('attach returned no observer')
		attached.push({ observer, reports })
	})(undefined)
	return attached
}

/**
 * Returns a function that calls `run` and reports what it throws or, because users may pass async functions,
 * what its result rejects with.
 */
function guarded<Fact>(
	reports: ProblemReports,
	key: string,
	text: string,
	run: (fact: Fact) => unknown,
): (fact: Fact) => void {
	const report = (error: unknown) => reports.report(key, text, error)
	return (fact) => {
		try {
			const result = run(fact)
			if (result !== undefined) whenRejected(result, report)
		} catch (error) {
			report(error)
		}
	}
}

/** May throw, as the `then` of a thenable may. */
function whenRejected(result: unknown, handle: (error: unknown) => void): void {
	const { then } = Object(result)
	if (typeof then === 'function') then.call(result, undefined, handle)
}

const callEach = <Fact>(functions: readonly ((fact: Fact) => void)[]): ((fact: Fact) => void) => {
	const [only] = functions
	if (only && functions.length === 1) return only
	return (fact) => {
		for (const call of functions) call(fact)
	}
}

function guardedOnEvent({ observer, reports }: Attached): ((event: EventBase) => void)[] {
	if (!observer.onEvent) return []
	const onEvent = guarded(reports, 'event', 'an event was not exported', (event: EventBase) =>
		observer.onEvent?.(event),
	)
	if (observer.level === 'all') return [onEvent]
	return [
		(event) => {
			// Another exporter may need all events.
			if (event.type !== 'call' && !isRoutineEvent(event as YaokiEvent)) onEvent(event)
		},
	]
}

function guardedOnCallEnd({ observer, reports }: Attached): ((end: CallEnd) => void)[] {
	if (!observer.onCallEnd) return []
	const text = 'the end of a call was not exported'
	return [guarded(reports, 'call', text, (end: CallEnd) => observer.onCallEnd?.(end))]
}

const nest =
	(inner: Around, outer: Around): Around =>
	(info, next) =>
		outer(info, () => inner(info, next))

/** Runs `next` exactly once and returns its result, whatever the exporter does. */
function guardedAround({ observer, reports }: Attached): Around[] {
	const { around, trusted } = observer
	if (!around) return []
	if (trusted) return [around]
	const report = (error: unknown) => reports.report('around', 'a span was not created or not ended', error)
	return [
		(info, next) => {
			const run = new SingleRun(next)
			const once = () => run.result()
			try {
				const result = around.call(observer, info, once)
				if (result !== run.value) whenRejected(result, (error) => run.unlessOwn(error, report))
			} catch (error) {
				if (!run.hasThrown || error !== run.value) report(error)
			}
			return run.result()
		},
	]
}

class SingleRun {
	hasThrown = false
	/** The result, or what was thrown. */
	value: unknown
	#next: (() => unknown) | undefined

	constructor(next: () => unknown) {
		this.#next = next
	}

	result(): unknown {
		const next = this.#next
		this.#next = undefined
		if (next)
			try {
				this.value = next()
			} catch (error) {
				this.hasThrown = true
				this.value = error
			}
		if (this.hasThrown) throw this.value
		return this.value
	}

	/** Reports the error, unless it is the operation's own error, which an async `around` passes on. */
	async unlessOwn(error: unknown, report: (error: unknown) => void): Promise<void> {
		let own: unknown = this.value
		try {
			if (!this.hasThrown) own = await this.value
		} catch (rejection) {
			own = rejection
		}
		if (own !== error) report(error)
	}
}
