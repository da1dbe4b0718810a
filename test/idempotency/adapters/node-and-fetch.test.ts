import { runScenarios } from './scenarios.ts'
import { servers } from './servers.ts'

runScenarios(servers)
