/** Combines the observers of all exporters into one that never throws. What one exporter does affects neither calls nor other exporters. */
import type { EventBase } from '../../core/events/events.ts'
import { isRoutineEvent, type YaokiEvent } from '../../core/events/events.ts'
import type { Around, CallEnd, CallInfo, Observer } from '../../core/observe/observer.ts'
import type { Exporter, Source } from './exporter.ts'
import { ProblemReports } from './report.ts'

interface Attached {
	readonly observer: ReturnType<Exporter['attach']>
	readonly reports: ProblemReports
}

export interface CombinedObserver {
	readonly observer: Observer
	detach(): void
}

export function combineObservers(exporters: readonly Exporter[], source: Source): CombinedObserver {
	const all = exporters.flatMap((exporter) => attach(exporter, source))
	const isComplete = all.some(({ observer }) => observer.isComplete)
	const onEvents = all.flatMap(guardedOnEvent)
	const onCallEnds = all.flatMap(guardedOnCallEnd)
	const arounds = all.flatMap(guardedAround)
	const observer: Observer = {
		isComplete,
		...(onEvents.length > 0 && { onEvent: callEach(onEvents) }),
		...(onCallEnds.length > 0 && { onCallEnd: callEach(onCallEnds) }),
		...(arounds.length > 0 && {
			around: arounds.reduceRight(nest),
			wantsAttempts: (call) => all.some(({ observer }) => wantsAttempts(observer, call)),
		}),
	}
	return {
		observer,
		detach: () => {
			for (const { observer, reports } of all) guard(reports, 'detach', () => observer.detach?.())
		},
	}
}

/** Only an exporter that catches its own errors is asked. */
const wantsAttempts = (observer: Observer, call: CallInfo): boolean =>
	observer.around !== undefined && !(observer.isAroundSafe && observer.wantsAttempts?.(call) === false)

function attach(exporter: Exporter, source: Source): Attached[] {
	const reports = new ProblemReports(exporter.name)
	const attached: Attached[] = []
	guard(reports, 'attach', () => attached.push({ observer: exporter.attach(source), reports }))
	return attached
}

function guard(reports: ProblemReports, action: string, run: () => void): void {
	try {
		run()
	} catch (error) {
		reports.report(action, `${action} failed:`, error)
	}
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
	return [
		(event) => {
			// Another exporter may need all events.
			if (!observer.isComplete && isOnlyForComplete(event)) return
			try {
				observer.onEvent?.(event)
			} catch (error) {
				reports.report('event', 'an event was not exported:', error)
			}
		},
	]
}

const isOnlyForComplete = (event: EventBase): boolean =>
	event.type === 'call' || isRoutineEvent(event as YaokiEvent)

function guardedOnCallEnd({ observer, reports }: Attached): ((end: CallEnd) => void)[] {
	if (!observer.onCallEnd) return []
	return [
		(end) => {
			try {
				observer.onCallEnd?.(end)
			} catch (error) {
				reports.report('call', 'the end of a call was not exported:', error)
			}
		},
	]
}

const nest =
	(inner: Around, outer: Around): Around =>
	(info, next) =>
		outer(info, () => inner(info, next))

/**
 * Runs `next` exactly once and returns its result, whatever the exporter does.
 */
function guardedAround({ observer, reports }: Attached): Around[] {
	const { around, isAroundSafe } = observer
	if (!around) return []
	if (isAroundSafe) return [around]
	return [
		(info, next) => {
			const run = new SingleRun(next)
			const once = () => run.result()
			try {
				around.call(observer, info, once)
			} catch (error) {
				if (!run.hasThrown || error !== run.value)
					reports.report('around', 'a span was not created or not ended:', error)
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
}
