/** Reads the overview again and again, and shows it, until Ctrl-C. */
import { sleep } from '../../core/runtime/sleep.ts'
import type { Overview } from '../../dashboard/contract.ts'
import { formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { CommandResult } from '../command.ts'
import { errorMessage, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { rejectWithout } from '../parse-arguments.ts'
import { readHeaders } from '../relay/options.ts'
import { overviewOfUrl, type ReadOverview } from './dashboard-url.ts'
import type { TopArguments } from './options.ts'
import { renderTop } from './render-top.ts'
import { Screen } from './screen.ts'

const DEFAULT_SECONDS = 2

export async function runTop(args: TopArguments, io: CommandIo): CommandResult {
	const { url, header, headerFile, database, databaseFile, schema, noPrepare } = args
	const { seconds, once } = args
	if (seconds !== undefined && (once || io.json))
		throw usageError(`--seconds cannot be combined with ${once ? '--once' : '--json'}.`, {
			hint: 'It prints the figures once and ends.',
		})
	const limits = { seconds: seconds ?? DEFAULT_SECONDS, once }
	if (url === undefined) {
		rejectWithout('the URL of a dashboard', { header, headerFile })
		const { overviewOfDatabase } = await import('../dashboard/database-overview.ts')
		return overviewOfDatabase(args, io, (name, read) => showTop(name, read, limits, io))
	}
	rejectWithout('a database, so leave out the URL', { database, databaseFile, schema, noPrepare })
	// The headers of YAOKI_HEADERS are for the destination of `yaoki relay`, which is another server.
	const headers = readHeaders({ header, headerFile }, { env: {}, warn: io.warn })
	const { name, read } = overviewOfUrl(url, headers, io.runtime)
	return showTop(name, read, limits, io)
}

/** A window that is resized is drawn again after this time at most. */
const RESIZE_POLL_MS = 200

/**
 * The first error ends the command, because it is a wrong URL or a missing header. A later one does not: a server is
 * deployed, and comes back.
 */
async function showTop(
	name: string,
	read: ReadOverview,
	{ seconds, once }: { readonly seconds: number; readonly once: boolean },
	io: CommandIo,
): CommandResult {
	const render = (overview: Overview) => renderTop(name, overview, io)
	let overview = await read(io.signal)
	if (once || io.json) {
		io.result(overview, () => render(overview).join('\n'))
		return
	}
	const screen = new Screen(io)
	let failure: { readonly text: string; readonly since: number } | undefined
	const lines = (): readonly string[] => {
		if (!failure) return render(overview)
		const age = formatDuration(io.runtime.now() - failure.since)
		const text = `${failure.text} It has failed for ${age}, and is tried again every ${formatDuration(seconds * 1000)}.`
		const sentence = io.style.red(sanitizeLine(text))
		return screen.canRedraw ? [sentence, 'The last figures:', '', ...render(overview)] : [sentence]
	}
	for (;;) {
		screen.show(lines())
		const until = io.runtime.now() + seconds * 1000
		for (let left = seconds * 1000; left > 0 && !io.signal.aborted; left = until - io.runtime.now()) {
			await sleep(io.runtime, screen.canRedraw ? Math.min(left, RESIZE_POLL_MS) : left, io.signal)
			if (screen.isResized) screen.show(lines())
		}
		if (io.signal.aborted) return
		try {
			overview = await read(io.signal)
			failure = undefined
		} catch (error) {
			if (io.signal.aborted) return
			failure = { text: errorMessage(error), since: failure?.since ?? io.runtime.now() }
		}
	}
}
