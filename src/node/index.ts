/** `yaoki/node`: deadlines, signals and attempts that travel in Node's async context. */
export { currentContext, runWithContext, withAmbientContext } from './async-context.ts'
