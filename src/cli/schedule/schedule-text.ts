/** A retry schedule as a table with bars. */
import type { RetrySchedule } from '../../core/retry/schedule.ts'
import { formatTable, type TableOptions } from '../../text/table.ts'

const BAR_COLUMNS = 16

interface NumberedDelays extends Pick<RetrySchedule, 'total'> {
	/** Retries count from 1. */
	readonly delays: readonly (RetrySchedule['total'] & { readonly retry: number })[]
}

/** `█` reaches to the mean and `░` to the maximum. */
export function scheduleText({ delays, total }: NumberedDelays, options: TableOptions): string {
	if (delays.length === 0) return 'No retries, so no delays.'
	const longestMs = Math.max(...delays.map(({ maxMs = 0 }) => maxMs))
	const bar = (meanMs: number, maxMs: number): string => {
		const columns = (ms: number) => (longestMs > 0 ? Math.round((ms / longestMs) * BAR_COLUMNS) : 0)
		return '█'.repeat(columns(meanMs)) + '░'.repeat(columns(maxMs) - columns(meanMs))
	}
	let soFarMs = 0
	const rows = delays.map(({ retry, minMs = 0, meanMs = 0, maxMs = 0 }) => {
		soFarMs += maxMs
		return [String(retry), minMs, meanMs, maxMs, soFarMs, bar(meanMs, maxMs)]
	})
	const { minMs = 0, meanMs = 0, maxMs = 0 } = total
	return formatTable(
		{
			head: ['retry', 'min ms', 'mean ms', 'max ms', 'max so far', ''],
			rows: [...rows, ['total', minMs, meanMs, maxMs]],
			align: ['right', 'right', 'right', 'right', 'right', 'left'],
		},
		options,
	)
}
