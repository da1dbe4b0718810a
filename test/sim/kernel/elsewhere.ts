/** Runs a scenario where it is loaded: imported, in a worker, or in a process of its own. */
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { type Scenario, simulate } from '../../../src/sim/index.ts'

export const bytesOf = (scenario: Scenario): string => JSON.stringify(simulate(scenario))

if (!isMainThread && parentPort && typeof workerData?.scenario === 'string')
	parentPort.postMessage(bytesOf(JSON.parse(workerData.scenario)))
else if (process.argv[1] === import.meta.filename) console.log(bytesOf(JSON.parse(process.argv[2] ?? '')))
