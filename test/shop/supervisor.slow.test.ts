import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { end, guard } from '../guard/guard.ts'
import { processesOf } from '../guard/processes.ts'
import { eventually } from '../support/eventually.ts'

const PROGRAM = fileURLToPath(new URL('./start-bank.ts', import.meta.url))

test.runIf(process.platform === 'linux').each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
	'no service outlives a shop that is ended by %s',
	async (signal) => {
		const child = guard(fork(PROGRAM, { execArgv: ['--no-warnings'] }))
		const [port] = await once(child, 'message')
		const bank = () => processesOf(`"port":${port}`)
		expect(bank()).toHaveLength(1)
		await end(child, signal)
		await eventually(() => expect(bank()).toEqual([]))
	},
)
