"""Words of development that stand for each other, English and Korean: for queries (`gitmem.search`).

A line of `_SAME` are words for one thing. A line of `_KINDS` begins with the words for a kind of thing and goes on,
after `>`, with names of its members: who asks for the kind is given the members, and not the other way round.

Tested through `tests/search/query/test_query.py`.
"""

from __future__ import annotations

from functools import cache

from gitmem.text.stems import hangul_stem, stem

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SAME = """
lint linter 린트 린터
format formatter 포맷 포매터
test 테스트 시험
repository repo 저장소 레포
directory dir folder 디렉터리 디렉토리 폴더
file 파일
path 경로
database db 데이터베이스 디비
deploy deployment release 배포 릴리스
commit 커밋
branch 브랜치
merge 병합 머지
review reviewer 리뷰 검토
error exception failure 오류 에러 예외
bug defect 버그
function fn method 함수 메서드
config configuration settings 설정
dependency deps package pkg library lib 의존성 패키지 라이브러리
install 설치
delete remove drop 삭제 제거
add create 추가 생성
replace switch migrate swap 교체 전환
auth authentication login signin 인증 로그인
permission authorization role 권한
environment env 환경
documentation docs 문서
cache caching 캐시 캐싱
log logging logger 로그 로깅
api endpoint route 엔드포인트
frontend client 프런트엔드 프론트엔드
backend server 백엔드 서버
user 사용자 유저
password secret credential 비밀번호 암호
token 토큰
query 쿼리 질의
migration 마이그레이션
container 컨테이너
type typing 타입
build compile 빌드 컴파일
queue broker 큐
performance latency slow speed 성능 속도
version 버전
hook 훅
session 세션
checkpoint 체크포인트
agent 에이전트
subagent 서브에이전트
github 깃허브
code 코드
owner codeowners 오너 소유자
script 스크립트
prompt 프롬프트
plugin 플러그인
module 모듈
class 클래스
variable var vars 변수
string 문자열
thread 스레드
process 프로세스
lock 잠금
timeout 타임아웃
retry 재시도
component 컴포넌트
style 스타일
button 버튼
page 페이지
request req 요청
response 응답
header 헤더
parser parsing 파서 파싱
framework 프레임워크
team 팀
duplicate 중복
extract 추출
skip 건너뛰기 생략
default 기본
name naming 이름
store storage save 저장
image img 이미지
schedule cron 스케줄
payment checkout billing 결제
email mail 이메일 메일
search 검색
memory 메모리
screen 화면
production prod 운영
development dev 개발
argument arg 인자
parameter param 매개변수
command cmd 명령 명령어
message msg 메시지
javascript js 자바스크립트
typescript ts 타입스크립트
python py 파이썬
kubernetes k8s 쿠버네티스
internationalization i18n
administrator admin 관리자
temporary tmp temp 임시
application app 앱
"""
_KINDS = """
lint linter > ruff eslint flake8 pylint biome golangci-lint clippy shellcheck
format formatter > prettier black gofmt rustfmt
test testing > pytest jest vitest junit mocha playwright
package dependency > npm pnpm yarn bun pip uv poetry cargo
database db > postgres postgresql mysql sqlite mongodb
cache queue > redis memcached
queue broker > rabbitmq kafka celery sqs
orm > sqlalchemy prisma drizzle typeorm hibernate
migration > alembic flyway
auth authentication login > jwt oauth session cookie
framework > fastapi django flask react vue svelte rails spring express
container > docker podman kubernetes
ci pipeline > jenkins circleci actions
cloud hosting provider > aws gcp azure heroku vercel
monitoring alerting > datadog prometheus grafana sentry pagerduty
editor ide > vscode vim neovim emacs jetbrains
typing > mypy pyright typescript
build bundler > webpack vite esbuild rollup
validation schema > zod pydantic
payment > stripe paypal
email mail > sendgrid smtp
external third-party vendor saas > stripe paypal twilio sendgrid mailgun sentry auth0 s3 slack openai firebase
"""


_KEPT = 2  # characters at the beginning of a word that its stem keeps: only words that share them are stemmed


@cache
def _same() -> dict[str, list[tuple[str, list[str]]]]:
    """Return each word of the lists with its synonyms, by the beginning of the word."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for line in filter(None, _SAME.split("\n")):
        words = line.split()
        for word in words:
            found.setdefault(word[:_KEPT], []).append((word, words))
    return found


@cache
def _kinds() -> dict[str, list[tuple[str, list[str]]]]:
    """Return each word for a kind with the names of its members, by the beginning of the word."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for line in filter(None, _KINDS.split("\n")):
        kind, _, names = line.partition(" > ")
        for word in kind.split():
            found.setdefault(word[:_KEPT], []).append((word, names.split()))
    return found


def kindred(word: str) -> tuple[str, ...]:
    """Return the synonyms of a word, in lower case; most words have none."""
    return _listed(word, _same())


def members(word: str) -> tuple[str, ...]:
    """Return names of things of the kind that a word names, in lower case; most words name none."""
    return _listed(word, _kinds())


def _listed(word: str, lists: Mapping[str, Sequence[tuple[str, Sequence[str]]]]) -> tuple[str, ...]:
    key = _key(word)
    found: dict[str, None] = {}
    for listed, others in lists.get(word[:_KEPT], ()):
        if _key(listed) == key:
            found.update((other, None) for other in others if other != listed)
    return tuple(found)


def _key(word: str) -> str:
    if word.isascii():
        return stem(word) if word.isalpha() else word
    return hangul_stem(word)
