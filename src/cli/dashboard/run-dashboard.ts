/**
 * Serves what the database knows, until Ctrl-C or SIGTERM. Circuits, retries and failed calls are in the memory of the
 * programs that call: their own dashboards show them.
 */
import type { IncomingMessage } from 'node:http'
import { isLocal } from '../../dashboard/server/access.ts'
import { processUser } from '../../outbox/operator/operator.ts'
import type { CommandResult } from '../command.ts'
import { describeTarget } from '../database/database-target.ts'
import type { CommandIo } from '../io.ts'
import { databaseDashboard } from './database-dashboard.ts'
import { withDatabaseSources } from './database-sources.ts'
import type { DashboardArguments } from './options.ts'
import { serveDashboard } from './serve.ts'

export const runDashboard = (args: DashboardArguments, io: CommandIo): CommandResult =>
	withDatabaseSources(args, io, async ({ target, observe }) => {
		const handler = databaseDashboard(target, {
			observe,
			actor: processUser,
			payloads: args.noPayload ? 'hidden' : 'shown',
			runtime: io.runtime,
			authorize: args.readOnly ? onThisMachine : undefined,
		})
		try {
			const served = await serveDashboard(handler, args.port)
			try {
				// Listens before the URL is printed: a supervisor may stop a service as soon as it says that it runs.
				const stopped = stopRequested(io.signal)
				io.result({ url: served.url }, served.url)
				io.note(`The dashboard of ${describeTarget(target)}. Press Ctrl-C to end it.`)
				await stopped
			} finally {
				await served.close()
			}
		} finally {
			await handler.close()
		}
		return undefined
	})

/** The rules of a dashboard without `authorize`. */
const onThisMachine = (request: Request, native: unknown): 'read' | false => {
	const { socket, httpVersion } = native as IncomingMessage
	return isLocal(request, { address: socket.remoteAddress, httpVersion }) && 'read'
}

function stopRequested(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const stop = () => {
			process.off('SIGTERM', stop)
			signal.removeEventListener('abort', stop)
			resolve()
		}
		process.once('SIGTERM', stop)
		signal.addEventListener('abort', stop)
		if (signal.aborted) stop()
	})
}
