/** `yaoki/sim/report`: runs studies and reports their results as text, HTML, SVG and JSON. Runs anywhere. */
export type { TextStyle } from '../../text/style.ts'
export type { Curves } from '../run/study.ts'
export type { ChartOptions } from './chart-subject.ts'
export { type TextOptions, toHTML, toSVG, toText } from './report.ts'
export { runStudy } from './run-study.ts'
export { type CaseJSON, type JSONOptions, type RunJSON, type StudyJSON, toJSON } from './study-json.ts'
export type { StudyCaseResult, StudyResult } from './study-result.ts'
