import { frameworks } from './framework-servers.ts'
import { runScenarios } from './scenarios.ts'
import { servers } from './servers.ts'

runScenarios([...servers, ...frameworks])
