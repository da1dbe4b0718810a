/** One exporter reports this many different problems. */
const MAX_REPORTS = 100

/** Reports each problem of an exporter once, as a console warning, so that it does not flood a log. */
export class ProblemReports {
	readonly #exporter: string
	readonly #reported = new Set<string>()
	/** All problems, including those that are not reported again. */
	count = 0

	constructor(exporter: string) {
		this.#exporter = exporter
	}

	/** Reports a problem, unless one with the same key was reported before. */
	report(key: string, text: string, error?: unknown): void {
		this.count++
		if (this.#reported.has(key) || this.#reported.size >= MAX_REPORTS) return
		this.#reported.add(key)
		const message = `yaoki: telemetry (${this.#exporter}): ${text}`
		try {
			if (error === undefined) console.warn(message)
			else console.warn(`${message}:`, error)
		} catch {
			// A console that throws leaves no way to report, and must not affect the call.
		}
	}
}

const REPORTS = new WeakMap<object, ProblemReports>()

/** Returns the reports of an exporter, which all things that it observes share. */
export function reportsOf(exporter: { readonly name: string }): ProblemReports {
	const reports = REPORTS.get(exporter) ?? new ProblemReports(exporter.name)
	REPORTS.set(exporter, reports)
	return reports
}
