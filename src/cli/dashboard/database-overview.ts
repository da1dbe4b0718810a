/** The overview of a database, read in this process, without a server. */
import { API_SEGMENT, type Overview } from '../../dashboard/contract.ts'
import { describeTarget } from '../database/database-target.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import type { OpenArguments } from '../outbox/open-outbox.ts'
import { databaseDashboard } from './database-dashboard.ts'
import { withDatabaseSources } from './database-sources.ts'

export const overviewOfDatabase = <T>(
	args: OpenArguments,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	use: (name: string, read: () => Promise<Overview>) => Promise<T>,
): Promise<T> =>
	withDatabaseSources(args, io, async ({ target, observe }) => {
		const handler = databaseDashboard(target, { observe, authorize: () => 'read', runtime: io.runtime })
		const read = async (): Promise<Overview> => {
			const response = await handler(new Request(`http://127.0.0.1/${API_SEGMENT}/api/overview`))
			if (!response.ok) throw new CliError('failure', await response.text())
			return response.json()
		}
		try {
			return await use(describeTarget(target), read)
		} finally {
			await handler.close()
		}
	})
