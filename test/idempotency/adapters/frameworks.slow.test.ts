import { frameworks } from './framework-servers.ts'
import { runScenarios } from './scenarios.ts'

runScenarios(frameworks)
