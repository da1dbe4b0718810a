import type { ReportProgress } from '../transport/prepared-request.ts'

/** The shortest time between two events of one download. A fast body has thousands of chunks a second. */
export const PROGRESS_INTERVAL_MS = 100

/** Emits how much of a body has arrived: after each interval, and at the end. */
export const reportProgress: ReportProgress = (layer, call, bound, headers) => {
	const { runtime } = bound
	// The length of a compressed body says nothing about the bytes that are counted.
	const length = headers.has('content-encoding') ? null : headers.get('content-length')
	let emittedAt = runtime.now()
	return (receivedBytes, isEnd) => {
		const now = runtime.now()
		if (!isEnd && now - emittedAt < PROGRESS_INTERVAL_MS) return
		emittedAt = now
		const total = length === null ? {} : { totalBytes: Number(length) }
		layer.emit?.(call, bound, { type: 'download_progress', receivedBytes, ...total })
	}
}
