import type { Runtime } from '../../core/runtime/runtime.ts'
import { ProblemReports } from '../observe/report.ts'

/** Metrics in the text format of Prometheus, such as `inMemoryMetrics()`. */
export interface PrometheusText {
	toPrometheus(): string | Promise<string>
}

/** A registry of prom-client. */
export interface PrometheusRegistry {
	readonly contentType: string
	metrics(): string | Promise<string>
}

/** The response to a scrape, for every framework. */
export interface ScrapeResponse {
	readonly status: number
	readonly headers: Readonly<Record<string, string>>
	readonly body: string
}

const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8'
const PLAIN = 'text/plain; charset=utf-8'

/**
 * A scrape joins one that is still running, so that several Prometheus servers cost as much as one. It does
 * not join one that has run for longer than this: that one may never end, and there would be no metrics until
 * the process restarts. 10 s is the default timeout of Prometheus.
 */
const SHARED_FOR_MS = 10_000

/** Responds to scrapes of one source. */
export class Scraper {
	readonly #source: PrometheusText | PrometheusRegistry
	readonly #runtime: Runtime
	readonly #problems = new ProblemReports('metrics endpoint')
	#running: { readonly since: number; readonly text: Promise<string> } | undefined

	constructor(source: PrometheusText | PrometheusRegistry, runtime: Runtime) {
		this.#source = source
		this.#runtime = runtime
	}

	/** Never rejects. */
	async respond(method: string | undefined): Promise<ScrapeResponse> {
		if (method !== 'GET' && method !== 'HEAD')
			return { ...message(405, 'Use GET.'), headers: { 'content-type': PLAIN, allow: 'GET, HEAD' } }
		try {
			const body = await this.#collect()
			const type = 'toPrometheus' in this.#source ? TEXT_FORMAT : this.#source.contentType
			return { status: 200, headers: { 'content-type': type }, body }
		} catch (error) {
			this.report(error)
			// The error's text is left out: it may name hosts and users.
			return message(500, 'The metrics could not be collected. The log of the process has the error.')
		}
	}

	report(error: unknown): void {
		this.#problems.report('scrape', 'a scrape failed', error)
	}

	#collect(): Promise<string> {
		const now = this.#runtime.now()
		if (this.#running && now - this.#running.since < SHARED_FOR_MS) return this.#running.text
		const running = { since: now, text: this.#read() }
		this.#running = running
		const end = () => {
			if (this.#running === running) this.#running = undefined
		}
		running.text.then(end, end)
		return running.text
	}

	async #read(): Promise<string> {
		const source = this.#source
		return 'toPrometheus' in source ? source.toPrometheus() : source.metrics()
	}
}

const message = (status: number, text: string): ScrapeResponse => ({
	status,
	headers: { 'content-type': PLAIN },
	body: `${text}\n`,
})
