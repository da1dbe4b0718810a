/**
 * Keeps the overview current. An EventSource is the first choice; while it brings nothing, because it reconnects or
 * because a proxy holds its data back, the page asks every few seconds. A hidden tab asks for nothing.
 */
import type { Overview } from '../../src/dashboard/contract.ts'
import type { Connection } from '../state/connection.ts'
import { ApiError, apiPath, get } from './api.ts'

export interface Live {
	/** Asks now. */
	refresh(): Promise<void>
	close(): void
}

const POLL_MS = 3_000
/** A proxy may hold back the first event, and the page has nothing to show. */
const FIRST_MS = 3_000
/** The stream is silent for longer than any interval of the server. */
const SILENT_MS = 25_000
const REOPEN_MS = 5_000
/** A server that does not answer by then counts as gone: the figures on the page are old. */
const ANSWER_MS = 10_000

export function connect(
	onOverview: (overview: Overview) => void,
	onConnection: (connection: Connection) => void,
): Live {
	let stream: EventSource | undefined
	let poll: ReturnType<typeof setInterval> | undefined
	let silence: ReturnType<typeof setTimeout> | undefined
	let reopening: ReturnType<typeof setTimeout> | undefined

	const stopPolling = (): void => {
		clearInterval(poll)
		poll = undefined
	}
	let asking = 0
	const startPolling = (): void => {
		poll ??= setInterval(() => asking === 0 && void refresh(), POLL_MS)
	}
	const watch = (ms: number): void => {
		clearTimeout(silence)
		silence = setTimeout(startPolling, ms)
	}

	const open = (): void => {
		close()
		watch(FIRST_MS)
		stream = new EventSource(apiPath('stream'))
		const receive = (): void => {
			stopPolling()
			watch(SILENT_MS)
			onConnection('live')
		}
		// While nothing changes.
		stream.addEventListener('alive', receive)
		stream.onmessage = (event) => {
			receive()
			onOverview(JSON.parse(event.data))
		}
		stream.onerror = () => {
			// The server ends each stream after some minutes, and a proxy may forbid streams: then the figures are not old.
			startPolling()
			void refresh()
			// The browser reconnects by itself, except after a response that is not a stream.
			if (stream?.readyState !== EventSource.CLOSED) return
			clearTimeout(reopening)
			reopening = setTimeout(open, REOPEN_MS)
		}
	}

	const close = (): void => {
		stream?.close()
		stream = undefined
		stopPolling()
		clearTimeout(silence)
		clearTimeout(reopening)
	}

	const refresh = async (): Promise<void> => {
		const abort = new AbortController()
		const limit = setTimeout(() => abort.abort(), ANSWER_MS)
		asking++
		try {
			const overview = await get<Overview>('overview', abort.signal)
			if (document.hidden) return
			onOverview(overview)
			if (poll !== undefined) onConnection('polling')
		} catch (error) {
			if (document.hidden) return
			onConnection(
				error instanceof ApiError && (error.status === 401 || error.status === 403)
					? 'denied'
					: 'reconnecting',
			)
		} finally {
			asking--
			clearTimeout(limit)
		}
	}

	const follow = (): void => {
		if (document.hidden) {
			close()
			onConnection('hidden')
			return
		}
		onConnection('connecting')
		open()
	}
	document.addEventListener('visibilitychange', follow)
	// A page that the back button restores has lost its stream.
	const restore = (event: PageTransitionEvent): void => {
		if (event.persisted) follow()
	}
	addEventListener('pageshow', restore)
	follow()
	return {
		refresh,
		close: () => {
			document.removeEventListener('visibilitychange', follow)
			removeEventListener('pageshow', restore)
			close()
		},
	}
}
