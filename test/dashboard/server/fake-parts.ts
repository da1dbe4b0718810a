/** A dashboard whose halves are fakes: they return what a test needs, and record what they were asked for. */
import { onTestFinished } from 'vitest'
import { retry } from 'yaoki'
import type { Action, CircuitRow } from '../../../src/dashboard/contract.ts'
import { createDashboard, type Dashboard } from '../../../src/dashboard/dashboard.ts'
import type { DashboardOptions } from '../../../src/dashboard/options.ts'
import type { LivePart, PartSettings, Query, QueuePart } from '../../../src/dashboard/parts.ts'

type LiveOverview = ReturnType<LivePart['overview']>
type QueueOverview = Awaited<ReturnType<QueuePart['overview']>>

export class FakeParts {
	readonly ran: { readonly action: Action; readonly by: string }[] = []
	readonly asked: { readonly what: string; readonly query: Query }[] = []
	settings: PartSettings | undefined
	overviews = 0
	closed: string[] = []
	live: LiveOverview = { circuits: [], retries: [], limits: [], failedCalls: 0, problems: [] }
	queue: QueueOverview = { outboxes: [], idempotency: [], inboxes: [], webhooks: [], jobs: [], problems: [] }
	/** Called before a half answers. */
	before: () => unknown = () => undefined

	readonly #ask = async <T>(what: string, query: Query, result: T): Promise<T> => {
		this.asked.push({ what, query })
		await this.before()
		return result
	}

	readonly createLive = (_things: unknown, settings: PartSettings): LivePart => {
		this.settings = settings
		return {
			overview: () => this.live,
			calls: (query) => {
				this.asked.push({ what: 'calls', query })
				return {
					calls: [],
					leftOut: { failures: 0, rejections: 0 },
					sources: [],
					reasons: [],
					hasMore: false,
				}
			},
			run: (action, { by }) => {
				this.ran.push({ action, by })
				this.before()
				return { changed: 1, job: null, command: null }
			},
			close: () => void this.closed.push('live'),
		}
	}

	readonly createQueue = (): QueuePart => ({
		overview: async () => {
			this.overviews++
			await this.before()
			return this.queue
		},
		messages: (query) => this.#ask('messages', query, { messages: [], next: null, scanned: 0 }),
		message: (query) => this.#ask('message', query, undefined),
		dead: (query) => this.#ask('dead', query, { groups: [], hasMore: false }),
		audit: (query) => this.#ask('audit', query, { records: [], next: null }),
		endpoints: (query) => this.#ask('endpoints', query, { endpoints: [], next: null }),
		plan: ({ action }) =>
			this.#ask(
				'plan',
				{ action },
				{
					matching: { count: 3, isCapped: false },
					destinations: ['bank'],
					waiting: [],
					command: 'yaoki outbox replay',
				},
			),
		run: async (action, { by }) => {
			this.ran.push({ action, by })
			await this.before()
			return { changed: 1, job: null, command: null }
		},
		close: async () => void this.closed.push('queue'),
	})
}

/** Creates a dashboard that everything may use, unless the test says otherwise. */
export function fakeDashboard(options: Partial<DashboardOptions> = {}): {
	readonly parts: FakeParts
	readonly page: Dashboard
} {
	const parts = new FakeParts()
	const page = createDashboard(
		{ observe: { payments: retry({ maxRetries: 2 }) }, authorize: () => 'all', ...options },
		parts,
	)
	onTestFinished(() => page.close())
	return { parts, page }
}

/** A circuit with this many calls. */
export const circuitWith = (calls: number, lastError: string | null = null): CircuitRow => ({
	id: 'c1',
	source: 'payments',
	name: 'circuitBreaker',
	key: null,
	state: 'closed',
	isShadow: false,
	calls,
	failures: 0,
	errorRate: 0,
	rejectedPerSecond: 0,
	sinceMs: null,
	probeInMs: null,
	lastError,
	isIsolatedHere: false,
})

export const PAUSE = {
	action: 'pause',
	source: 'orders',
	destination: 'bank',
	reason: 'maintenance',
} as const
