/** Starts a bank and waits to be killed. */
import { stablePort } from '../support/stable-port.ts'
import { Supervisor } from './supervisor.ts'

const port = await stablePort()
const input = { port, database: '', orders: '', payments: '', bank: '', mail: '' }
const plan = {
	orders: 0,
	perSecond: 1,
	customers: 1,
	againMs: 1,
	restartMs: 1,
	limitMs: 1,
	faults: [],
	bank: { workers: 1, serviceMs: 1 },
}
await new Supervisor(plan.restartMs).start('bank', new URL('./bank.ts', import.meta.url), { ...input, plan })
process.send?.(port)
await new Promise(() => {})
