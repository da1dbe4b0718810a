/** The overview for all viewers: read at most once a second, written as text once for each change, however many look at it. */

import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Access, Overview, Problem } from '../contract.ts'
import type { LivePart, QueuePart } from '../parts.ts'
import { OVERVIEW_FORMAT } from '../protocol/names.ts'
import { hostAndPid } from './process.ts'
import { type Latest, Viewer } from './viewer.ts'

/** A viewer gets no more than one event in this time, and requests in this time share one overview. */
const INTERVAL_MS = 1_000
/** Proxies close connections on which nothing is sent, and the page polls when it receives nothing for longer. */
const HEARTBEAT_MS = 15_000
/** After this time a client connects again, and `authorize` is asked again. It also frees connections that are not read. */
const MAX_STREAM_MS = 300_000
const MAX_STREAMS = 1_000
/** After a restart of the server, clients connect again in a random order. */
const RETRY_MS = 2_000

const encoder = new TextEncoder()
/** A browser does not report comments, and ignores events without data. */
const HEARTBEAT = encoder.encode('event: alive\ndata: 1\n\n')

interface State extends Latest {
	readonly readAt: number
	/** All fields but `at` and `access`, as the text of an object. */
	readonly fields: string
	text(access: Access): string
}

export interface FeedSettings {
	readonly runtime: Runtime
	readonly isDatabaseOnly: boolean
	/** Receives errors of the parts. */
	readonly report: (error: unknown) => void
}

const EMPTY: State = {
	version: 0,
	readAt: Number.NEGATIVE_INFINITY,
	fields: '',
	text: () => '',
	event: () => encoder.encode(''),
}

export class OverviewFeed {
	readonly #live: LivePart
	readonly #queue: QueuePart
	readonly #settings: FeedSettings
	readonly #startedAt: number
	readonly #viewers = new Set<Viewer>()
	#state = EMPTY
	#reading: Promise<State> | undefined
	#isCurrent = false
	#heartbeatAt = 0
	#cancelTick: (() => void) | undefined

	constructor(live: LivePart, queue: QueuePart, settings: FeedSettings) {
		this.#live = live
		this.#queue = queue
		this.#settings = settings
		this.#startedAt = settings.runtime.wallNow()
	}

	/** Returns the overview as JSON. */
	async read(access: Access): Promise<string> {
		return (await this.#read()).text(access)
	}

	/** Opens a stream of events; undefined if there are too many. */
	open(access: Access, signal: AbortSignal): ReadableStream<Uint8Array> | undefined {
		if (this.#viewers.size >= MAX_STREAMS) return undefined
		const { runtime } = this.#settings
		const retryMs = Math.round(RETRY_MS * (1 + runtime.random()))
		const greeting = encoder.encode(`retry: ${retryMs}\n\n`)
		const leave = (viewer: Viewer) => this.#remove(viewer)
		const viewer = new Viewer(access, runtime.now(), greeting, () => this.#state, leave)
		// The client may have left while `authorize` was asked: then nothing would remove the viewer.
		if (signal.aborted) {
			viewer.end()
			return viewer.stream
		}
		this.#viewers.add(viewer)
		signal.addEventListener('abort', () => this.#viewers.has(viewer) && this.#end(viewer), { once: true })
		if (!this.#cancelTick) {
			this.#heartbeatAt = runtime.now()
			this.#tick()
		}
		return viewer.stream
	}

	/** Makes the next event and the next request see a change that was just made. */
	refresh(): void {
		this.#isCurrent = false
		this.#reading = undefined
	}

	close(): void {
		for (const viewer of [...this.#viewers]) this.#end(viewer)
	}

	#tick(): void {
		const { runtime, report } = this.#settings
		this.#cancelTick = runtime.setTimer(INTERVAL_MS, () => this.#tick(), 'housekeeping')
		const now = runtime.now()
		for (const viewer of [...this.#viewers]) if (now - viewer.openedAt >= MAX_STREAM_MS) this.#end(viewer)
		if (now - this.#heartbeatAt >= HEARTBEAT_MS) {
			this.#heartbeatAt = now
			for (const viewer of this.#viewers) viewer.send(() => HEARTBEAT)
		}
		if (this.#viewers.size === 0) return
		this.#read().then(() => {
			for (const viewer of this.#viewers) viewer.update()
		}, report)
	}

	#end(viewer: Viewer): void {
		viewer.end()
		this.#remove(viewer)
	}

	#remove(viewer: Viewer): void {
		this.#viewers.delete(viewer)
		if (this.#viewers.size > 0) return
		this.#cancelTick?.()
		this.#cancelTick = undefined
	}

	/** Joins a read that is running, and returns the state of a read that is less than a second old. */
	#read(): Promise<State> {
		const { runtime } = this.#settings
		if (this.#reading !== undefined) return this.#reading
		// A timer may fire a fraction of a millisecond early.
		if (this.#isCurrent && runtime.now() - this.#state.readAt < INTERVAL_MS - 1)
			return Promise.resolve(this.#state)
		const reading = this.#readParts().then((state) => {
			if (this.#reading === reading) {
				this.#state = state
				this.#isCurrent = true
			}
			return state
		})
		this.#reading = reading
		const end = () => {
			if (this.#reading === reading) this.#reading = undefined
		}
		reading.then(end, end)
		return reading
	}

	async #readParts(): Promise<State> {
		const { runtime, isDatabaseOnly } = this.#settings
		const { problems: queueProblems, ...queue } = await this.#queue.overview()
		const { problems: liveProblems, ...live } = this.#live.overview()
		const overview: Omit<Overview, 'at' | 'access'> = {
			format: OVERVIEW_FORMAT,
			process: { ...hostAndPid(), startedAt: this.#startedAt },
			isDatabaseOnly,
			problems: [...liveProblems, ...queueProblems].sort(byWeight),
			...live,
			...queue,
		}
		return stateOf(overview, runtime, this.#state)
	}
}

/** Errors first, then what has lasted longest. What began before this process looked has lasted longest of all. */
function byWeight(a: Problem, b: Problem): number {
	if (a.severity !== b.severity) return a.severity === 'error' ? -1 : 1
	const [first, second] = [a.sinceMs ?? Number.MAX_VALUE, b.sinceMs ?? Number.MAX_VALUE]
	return second - first
}

/** The time alone is no change. */
function stateOf(overview: Omit<Overview, 'at' | 'access'>, runtime: Runtime, last: State): State {
	const fields = JSON.stringify(overview)
	const at = runtime.wallNow()
	const events = new Map<Access, Uint8Array>()
	const text = (access: Access) => `{"at":${at},"access":"${access}",${fields.slice(1)}`
	return {
		version: fields === last.fields ? last.version : last.version + 1,
		readAt: runtime.now(),
		fields,
		text,
		event(access) {
			const event = events.get(access) ?? encoder.encode(`data: ${text(access)}\n\n`)
			events.set(access, event)
			return event
		},
	}
}
